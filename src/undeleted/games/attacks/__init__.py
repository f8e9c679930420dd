"""Adversaries: each a function that plays in a world, and cannot tell a real one from a simulated one.

A file here has the attack, under the file's name, and `run`, which sets up people and a curator from plain
parameters, plays, and counts what was learned.  `undeleted attack NAME` is made from `run`.
"""
