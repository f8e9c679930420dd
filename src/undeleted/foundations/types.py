"""Names for values whose type nobody can know: what others pass in, publish or compute.

No library is imported here: the command line starts with these.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]  # a JSON object
Given: TypeAlias = Any  # what a caller passed, or a library returned, before it is checked
Output: TypeAlias = Any  # what an algorithm publishes, or an attacker returns: games and audits take anything
Code: TypeAlias = Any  # a number, an array, or a database expression: all can be added and multiplied
Expression: TypeAlias = Any  # of Ibis, which has no types that we could use
Terms: TypeAlias = Sequence[tuple[Code, Code]]  # for every block, the cell that moves, and by how much
Progress: TypeAlias = Callable[[int], None]  # called with how many more are done
Sink: TypeAlias = Callable[[str], None]  # called with a line of text, or an id
