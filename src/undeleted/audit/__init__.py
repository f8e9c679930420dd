"""Does honouring deletions expose the people who stay?  Black boxes, answered with a witness or with power.

    auditor            `audit`: probes, proves, attacks and judges, within a budget
    targets            what can be audited: ours by name, libraries, programs that speak JSON lines
    columns            what a record of an audited system looks like
    lab                plays with a target, and writes down what an observer sees
    case               the target under audit, and what is known so far
    probing, proving, judging, forgetting    the stages of an audit
    pairs              worlds that agree on all that the attacker controls
    collisions         two worlds with the same first output that deletions tell apart
    exposures          attacks that read values off what a target publishes: a file each
    distinguishers     attackers that learn from runs to tell two worlds apart
    sequential_tests   chosen on some runs, judged on others, at fixed stopping points
    confidence_bounds  what may be concluded from runs, and with which confidence
    verdict, witness, replaying    what an audit says, the file of it, and running it again

Imports `errors`, `foundations`, `curate`, `games` and `verify`.
"""
