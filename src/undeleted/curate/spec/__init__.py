"""The spec: a TOML file that says what a record is, what may be spent, and what is published.

spec     the file as values, checked; every error points at its line
draft    a first spec from column names and types alone
"""

from undeleted.curate.spec.spec import Spec, read_text

__all__ = ["Spec", "read_text"]
