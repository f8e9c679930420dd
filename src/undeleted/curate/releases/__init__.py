"""What mechanisms publish, and what can be read off it without spending anything.

linear       noisy totals: the release and the base class of most mechanisms
count_tree   a tree of counts as its readers see it
ranges       any range, the CDF and quantiles from such a tree, with intervals
partition    boxes that grew where people are, and their leaves
units        from centred codes to the columns' own units
bootstrap    intervals for what has no formula, by drawing the noise once more
"""
