"""Every claim of the paper as code that runs: one file per claim: P1–P9, D1–D5, M1–M11,
G4 beyond the paper, and the survey.

A claim is a function of a `Setting` that returns figures, each compared with a prediction, and pictures
(`paper/claim.py`).  `SAYS` is the paper's claim in our words, `WHERE` the place in the paper.
"""
