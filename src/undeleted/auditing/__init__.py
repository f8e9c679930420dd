"""Audit black boxes: does honouring deletions expose the people who stay?

An audit ends with a witness, or says how small a leak it would have detected.

    auditor            `audit`: probes, proves, attacks and judges, within a budget
    targets            what can be audited: ours by name, libraries, programs that speak JSON lines
    columns            what a record of an audited system looks like
    lab                runs a target and records what an observer sees
    state              the target under audit, and what is known so far
    probing, proving, judging, forgetting    the stages of an audit
    pairs              pairs of worlds that agree on everything the attacker controls
    collisions         two worlds with the same first output that deletions distinguish
    exposures          attacks that recover values from what a target publishes, one file each
    distinguishers     attackers that learn from runs to distinguish two worlds
    sequential_tests   tests that are chosen on some runs and made on others, at fixed stopping points
    confidence_bounds  what may be concluded from runs, and with what confidence
    verdict, witness, replaying    the result of an audit, the file that stores it, and running it again

Imports `errors`, `foundations`, `curate`, `games` and `verifying`.
"""
