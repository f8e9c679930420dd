"""What mechanisms publish, and what can be computed from it without spending budget.

linear       noisy totals: the release and the base class of most mechanisms
count_tree   a tree of counts as readers see it
ranges       any range, the CDF and quantiles from such a tree, with intervals
partition    boxes that grew where people are, and their leaves
units        from centred codes to the columns' own units
bootstrap    intervals for answers without a formula, by drawing the noise again
"""
