"""Does honouring deletions expose the people who stay?  Answers with a proof or a witness.

exact         small finite worlds: the best simulator by linear programming, certified in rationals
statistical   black boxes: colliding worlds, attacks, and bounds at a stated rate of false alarms
witness       what was found in a black box, run again from scratch
"""
