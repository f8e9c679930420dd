"""Adversaries: each a function that plays in a world, and cannot tell a real one from a simulated one.

Each file has the attack, a function named like the file, and `run`, which sets up people and a curator from
plain parameters, plays, and counts what was learned.  `undeleted attack NAME` is generated from `run`.
"""
