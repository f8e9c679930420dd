"""The paper's definitions of undeleted-safety (D1–D4) as runnable games, and their players.

    algorithm       any curator: start(data, coins), then delete(points)
    release_once    the adapter from a mechanism to an algorithm
    worlds          what an attacker may do: look, corrupt, delete; moves against the rules are refused
    non_adaptive    D1: a fixed sequence of deletions
    static          D2: the attacker chooses the order among points that it controls from the start
    dynamic         D3: the attacker corrupts as it goes, in the real or the ideal world; D4 with leakage
    simulator       the one generic simulator for every release-once mechanism: it calls `forget`
    with_leakage    the adapter of leaky mechanisms, and the simulator that receives g
    arrivals        D3 with ticks: a table that people join and leave, real and ideal, and its simulator
    breach          what a thief learns from a store that keeps no records, beyond what is published
    reductions      D3 ⇒ D2 ⇒ D1, and when they hold
    similarity      D5: measures of how close two worlds are
    transcript      (z0, y1, z1, …, yk, zk), saved and replayed

    leaky           mechanisms that answer from a hidden state: safe only with a stated leakage
    baselines       what people do today: retrain, recompute, ignore, certified removal, continual observation
    reconstruction  the tasks, transforms and pictures that several attacks share
    attacks         adversaries P1–P9, each a function of a world in its own file

Imports `errors`, `foundations` and `curate`.
"""
