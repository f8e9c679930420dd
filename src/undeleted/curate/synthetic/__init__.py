"""Synthetic rows from published marginals: post-processing of a release, so it costs nobody anything.

    measured    the noisy marginals of a release, the number of records, and how wide the noise is
    fitting     fits a model to them from scratch, in a process of its own, with limits
    worker      that process: Private-PGM (`mbi`, on JAX) estimates and samples
    rows        rows on the grid, and as a table with the schema's own types

Nothing here sees records.  A fit starts from nothing: a warm start from before a deletion would carry those
who have left.
"""
