"""What definitions of the retraining kind compare: an output after deletions, and a fresh one on the rest."""

from collections.abc import Callable, Iterator

from undeleted.foundations.types import Json, Output
from undeleted.paper.answers import Law, data_sets, marginal, two_laws
from undeleted.paper.specimens import Specimen


def compared(
    specimen: Specimen, distance: Callable[[Law, Law], Output], most: int, *, at_once: bool = False
) -> Iterator[tuple[Output, Json]]:
    """Compare the last output after up to `most` deletions with the first output on what is left.

    Points are deleted one by one and compared with a fresh start; with `at_once` they are deleted in one
    batch, and the fresh start deletes an empty batch.  The first points of the data are deleted; the data
    come in every order.
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


def _last(end: Output) -> Output:
    return end[0][-1]
