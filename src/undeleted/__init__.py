"""Honour deletions without exposing the people who stay.

The paper behind this package is *Protecting the Undeleted in Machine Unlearning*
(Cohen, Kohen, Nissim, Stemmer, 2026).  A first walk through the code:

    coins        where randomness comes from
    schema       what a record is
    statistics   what one record contributes, as bounded integers
    mechanisms   release once; forget from the release and the deleted record
    baselines    what people do today
    games        the definitions of undeleted-safety, as code that runs
    attacks      what an observer of deletions learns about those who stay
"""

__version__ = "0.1.0"
