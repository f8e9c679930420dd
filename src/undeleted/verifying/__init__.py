"""Is an algorithm undeleted-safe?  In a small finite world the answer is computed, with a proof.

    exact            `verify`: the least δ of the best simulator, by linear programs, certified in rationals
    divergence       differential privacy of those who stay, over whole transcripts
    finite_world     an algorithm, a domain, n people of whom at most k leave
    growing_worlds   the game of a table that grows, decided exactly, and what its transcripts cost
    small_worlds     our mechanisms and baselines by name, in such a world
    best_simulator   the best simulator against one attacker, as one linear program
    history_tree     everything that can happen: requests and outputs, with their exact probabilities
    step_laws        the exact law of one step of an algorithm
    linear_program   a linear program with rational data, solved by HiGHS and certified without trusting it

Imports `errors`, `foundations`, `curate` and `games`.
"""
