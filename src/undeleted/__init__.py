"""Honour deletions without exposing the people who stay.

The paper behind this package is *Protecting the Undeleted in Machine Unlearning*
(Cohen, Kohen, Nissim, Stemmer, 2026).  A first walk through the code:

    foundations  chance, privacy, what a record is
    curate       publish once, honour deletions
    models       scikit-learn estimators that forget
    games        the definitions of undeleted-safety, what people do today, and the attacks
    verify       the best simulator in a small world, with a proof
    audit        black boxes: broken with a witness, or not broken by these attacks
    paper        every claim and definition, run
    interfaces   the command line, the service, the pages
"""

from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Budget": "undeleted.foundations.privacy",
    "Zcdp": "undeleted.foundations.privacy",
    "Curator": "undeleted.curate.curator",
    "Schema": "undeleted.foundations.schema",
    "Number": "undeleted.foundations.schema",
    "Category": "undeleted.foundations.schema",
    "Boolean": "undeleted.foundations.schema",
    "Text": "undeleted.foundations.schema",
}


def __getattr__(name: str) -> Any:
    """The everyday names, imported on demand: `from undeleted import Curator`."""
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'undeleted' has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", *sorted(_HOME)]
