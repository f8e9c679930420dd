"""The paper's definitions of undeleted-safety as games that run (D1–D4), and who plays in them.

    algorithm       any curator: start(data, coins), then delete(points)
    release_once    the adapter that turns a mechanism into an algorithm
    worlds          what an attacker may do: look, corrupt, delete; moves against the rules are refused
    non_adaptive    D1: a fixed sequence of deletions
    static          D2: the attacker chooses the order among points that it controls from the start
    dynamic         D3: the attacker corrupts as it goes, in the real or the ideal world; D4 with leakage
    simulator       the one generic simulator for every release-once mechanism: it calls `forget`
    with_leakage    leaky mechanisms: their adapter, and the simulator that is told g
    reductions      D3 ⇒ D2 ⇒ D1, with their condition
    similarity      D5: when are two worlds alike?
    transcript      (z0, y1, z1, …, yk, zk), saved and replayed

    leaky           safe only with stated leakage: answers from something that stays hidden
    baselines       what people do today: retrain, recompute, ignore, certified removal, continual observation
    reconstruction  the tasks, transforms and pictures that several attacks share
    attacks         adversaries P1–P9, each a function of a world: a file each

Imports `errors`, `foundations` and `curate`.
"""
