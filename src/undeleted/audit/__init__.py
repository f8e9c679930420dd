"""Does honouring deletions expose the people who stay?  Answers with a proof or a witness.

exact      small finite worlds: the best simulator by linear programming, certified in rationals
"""
