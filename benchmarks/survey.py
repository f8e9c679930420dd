"""Compute every cell of the survey of definitions, and time each definition."""

import time

from bench import Bench
from undeleted.paper.specimens import specimens
from undeleted.paper.survey_table import ask, in_order


def main() -> None:
    bench = Bench("survey", __doc__ or "", seeds=1)
    known = specimens()
    agreed = decided = 0
    for definition in in_order():
        started = time.perf_counter()
        cells = [ask(definition, specimen) for specimen in known.values()]
        agreed += sum(cell.agrees is True for cell in cells)
        decided += sum(cell.agrees is not None for cell in cells)
        bench.row(
            definition=definition,
            seconds=time.perf_counter() - started,
            holds={cell.specimen: cell.answer.holds for cell in cells},
            distance={cell.specimen: cell.as_json()["distance"] for cell in cells},
            paper={cell.specimen: cell.claim for cell in cells},
        )
    bench.claim("every cell that the paper decides agrees", agreed == decided, agreed=agreed, decided=decided)
    bench.finish()


if __name__ == "__main__":
    main()
