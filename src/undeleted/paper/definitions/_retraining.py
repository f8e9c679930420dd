"""What definitions of the retraining kind compare: an output after deletions, and a fresh one of the rest."""

from collections.abc import Callable, Iterator
from typing import Any

from undeleted.paper.answers import Law, data_sets, marginal, two_laws
from undeleted.paper.specimens import Specimen


def compared(
    specimen: Specimen, distance: Callable[[Law, Law], Any], most: int, *, at_once: bool = False
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The last output after up to `most` deletions against the first output on what is left.

    One by one against a fresh start; or `at_once` against a fresh start that is asked to delete nobody.
    The first points of the data are deleted; the data come in every order.
    """
    for data in data_sets(specimen):
        for gone in range(1, min(most, specimen.n - 1) + 1):
            deleted = data[:gone]
            batches = [deleted] if at_once else [(point,) for point in deleted]
            unlearned = marginal(specimen.play(data, batches), _last)
            retrained = marginal(specimen.play(data[gone:], [()] if at_once else []), _last)
            witness = {"data": list(data), "deleted": list(deleted)}
            laws = two_laws(unlearned, retrained, ("unlearned", "retrained"))
            yield distance(unlearned, retrained), witness | laws


def _last(end: Any) -> Any:
    return end[0][-1]
