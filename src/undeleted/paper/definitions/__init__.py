"""The survey: one file per definition of unlearning, each executable on finite worlds, ours among them.

A file holds a function of a specimen that answers whether the definition holds for it, and literals: KIND
(retraining: satisfied by perfect retraining; privacy: not; ours), SOURCE, SIMPLIFIED (what the finite world
leaves out), and CLAIMS (what the paper says, which no function reads).
"""
