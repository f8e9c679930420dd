"""The process that fits and samples: `python -m undeleted.curate.synthetic.worker`, arrays in, arrays out.

JAX and Private-PGM have global settings, global random generators and a gigabyte of memory; here they have a
process of their own, which ends.  Everything that it is given is published already.

    mixture   200 products of independent columns.  The fit stops when it misses the marginals by no more
              than their noise would: beyond that it would fit the noise.
    tree      a junction tree over the marginals that say the most beyond their noise, up to a size
"""

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_ENABLE_X64"] = "1"  # counts of large tables; here nobody else uses JAX

import numpy as np

from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.types import Given, Json

COMPONENTS, RATE, STEPS = 200, 0.1, 3000
TREE_STEPS = 1000


class NoisyTables:
    """Marginals with their noise, as Private-PGM takes them."""

    def __init__(self, arrays: Mapping[str, Given], asked: Json) -> None:
        import mbi

        self.bins: list[int] = asked["bins"]
        self.sets = [tuple(map(str, columns)) for columns in asked["sets"]]
        self.counts = [np.asarray(arrays[f"counts{i}"], dtype=float) for i in range(len(self.sets))]
        self.spreads: list[float] = asked["spreads"]
        self.total: float = asked["total"]
        self.domain = mbi.Domain([str(i) for i in range(len(self.bins))], self.bins)

    def measurement(self, number: int) -> Given:
        """A marginal, as shares of all records."""
        import mbi

        shares = (self.counts[number] / self.total).ravel()
        return mbi.LinearMeasurement(shares, self.sets[number], stddev=self.spreads[number] / self.total)


def mixture(problem: NoisyTables) -> dict[str, FloatArray]:
    """Fit a mixture; return the probabilities of every component, columns beside each other."""
    import optax
    from mbi.extensions.mixture_of_products import MixtureOfProductsEstimator

    steps, last = 0, None

    def misses(model: Given) -> float:
        """The misfit in units of what noise alone is expected to leave."""
        products = {name: np.asarray(p) for name, p in model.products.items()}
        found = 0.0
        for columns, counts, spread in zip(problem.sets, problem.counts, problem.spreads, strict=True):
            fitted = projected([products[c] for c in columns])
            found += float(((fitted * problem.total - counts) ** 2).sum()) / spread**2
        return found / sum(counts.size for counts in problem.counts)

    def after(model: Given) -> None:
        nonlocal steps, last
        steps, last = steps + 50, model
        _say(min(0.99, steps / STEPS))
        if misses(model) <= 1.0:
            raise StopIteration  # the only way to end the estimator early

    estimator = MixtureOfProductsEstimator(optimizer=optax.adam(RATE), num_components=COMPONENTS, seed=0)
    measurements = [problem.measurement(n) for n in range(len(problem.sets))]
    with suppress(StopIteration):
        estimator.estimate(problem.domain, measurements, known_total=1.0, iters=STEPS, callback_fn=after)
    model: Given = last
    columns = [np.asarray(model.products[str(i)], dtype=float) for i in range(len(problem.bins))]
    return {"products": np.concatenate(columns, axis=1), "steps": np.array([steps], dtype=float)}


def projected(products: Sequence[FloatArray]) -> FloatArray:
    """The marginal of a mixture over some columns, from their probabilities by component."""
    places = list(range(1, len(products) + 1))  # 0 is the component
    named: list[Given] = []
    for product, place in zip(products, places, strict=True):
        named += [product, [0, place]]
    found: FloatArray = np.einsum(*named, places, optimize=True) / len(products[0])
    return found


def tree(problem: NoisyTables, asked: Json) -> tuple[dict[str, FloatArray], Json]:
    """Fit a junction tree to the marginals that say the most; return its potentials, and which they are."""
    import mbi
    from mbi import estimation

    chosen = choice(problem, asked["excess"], asked["megabytes"])
    single = [(str(i),) for i in range(len(problem.bins))]
    measurements = [problem.measurement(n) for n in chosen]
    for i, (shares, spread) in enumerate(zip(asked["alone"], asked["alone_spreads"], strict=True)):
        stddev = spread / problem.total
        measurements.append(mbi.LinearMeasurement(np.array(shares), single[i], stddev=stddev))
    done = 0

    def after(_: Given) -> None:
        nonlocal done
        done += 50
        _say(min(0.99, done / TREE_STEPS))

    model = estimation.MirrorDescent().estimate(
        problem.domain, measurements, known_total=1.0, iters=TREE_STEPS, callback_fn=after
    )
    cliques = [tuple(clique) for clique in model.potentials.cliques]
    arrays = {f"potential{i}": np.asarray(model.potentials[c].values) for i, c in enumerate(cliques)}
    return arrays, {"cliques": cliques, "used": [list(map(int, problem.sets[n])) for n in chosen]}


def choice(problem: NoisyTables, excess: Sequence[float], megabytes: float) -> list[int]:
    """The marginals that say the most beyond their noise, of which the junction tree is small enough."""
    from mbi import junction_tree

    cliques: list[tuple[str, ...]] = [(str(i),) for i in range(len(problem.bins))]
    chosen: list[int] = []
    for number in sorted(range(len(excess)), key=lambda n: (-excess[n], n)):
        with_it = [*cliques, problem.sets[number]]
        if excess[number] > 0 and _megabytes(junction_tree, problem.domain, with_it) <= megabytes:
            cliques, chosen = with_it, [*chosen, number]
    return chosen


def _megabytes(junction_tree: Given, domain: Given, cliques: Sequence[tuple[str, ...]]) -> float:
    size: float = junction_tree.hypothetical_model_size(domain, cliques)
    return size


def tree_rows(arrays: Mapping[str, Given], asked: Json) -> IntArray:
    """Rows of a junction tree, as bins; their seed is the caller's."""
    import mbi

    bins = asked["bins"]
    domain = mbi.Domain([str(i) for i in range(len(bins))], bins)
    cliques = [tuple(clique) for clique in asked["cliques"]]
    factors = {
        clique: mbi.Factor(domain.project(clique), np.asarray(arrays[f"potential{i}"]))
        for i, clique in enumerate(cliques)
    }
    potentials = mbi.CliqueVector(domain, cliques, factors)
    model = mbi.MarkovRandomField(potentials=potentials, marginals=potentials, total=1.0)
    np.random.seed(asked["seed"])  # noqa: NPY002  Private-PGM samples with the global generator of its process
    data = model.synthetic_data(rows=asked["rows"]).to_dict()
    return np.column_stack([np.asarray(data[str(i)], dtype=np.int64) for i in range(len(bins))])


def _say(done: float) -> None:
    print(f"{done:.3f}", file=sys.stderr, flush=True)


def main() -> None:
    """Read one request, and write its answer."""
    import warnings

    warnings.simplefilter("ignore")
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    asked: Json = json.loads(str(arrays.pop("asked")))
    facts: Json = {}
    answer: dict[str, Given] = {}
    if asked["do"] == "mixture":
        answer = dict(mixture(NoisyTables(arrays, asked)))
    elif asked["do"] == "tree":
        fitted, facts = tree(NoisyTables(arrays, asked), asked)
        answer = dict(fitted)
    else:
        answer = {"rows": tree_rows(arrays, asked)}
    written = io.BytesIO()
    np.savez(written, facts=np.array(json.dumps(facts)), **answer)
    sys.stdout.buffer.write(written.getvalue())
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
