"""Our mechanisms, leaky mechanisms and baselines as targets.

    mechanism:noisy-sum   baseline:tree-counter   leaky:hidden-range-median   retrain:median   recompute:sum

Settings: `epsilon` of the noise (1), `high` of the column x = 0, …, high, `horizon` of a tree.
"""

from collections.abc import Mapping, Sequence

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.errors import BadTarget, UnknownName
from undeleted.foundations import registry
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.types import Given, Json, Output
from undeleted.games.baselines.certified_removal import CertifiedRemoval
from undeleted.verifying.small_worlds import FOLDERS, VARIANTS, build, names

OURS = {"mechanism": FOLDERS[0], "leaky": FOLDERS[1], "baseline": FOLDERS[2], "retrain": "", "recompute": ""}
SETTINGS = {"epsilon": 1.0, "high": None, "horizon": 64}


class OurCurator:
    """An algorithm of the games: records are points, and coins come from the seed."""

    label: str | None = None

    def __init__(self, make: Output, column: TargetColumn) -> None:
        self._make = make
        self.columns: tuple[TargetColumn, ...] = (column,)
        self._algorithm: Output = None
        self._left: Json = {}

    def start(self, records: Sequence[Row], seed: int) -> Output:
        name = self.columns[0].name
        self._left = {record["id"]: record[name] for record in records}
        self._algorithm = self._make()
        return self._algorithm.start(list(self._left.values()), seeded(seed))

    def delete(self, ids: Sequence[str]) -> Output:
        return self._algorithm.delete([self._left.pop(name) for name in ids])


class Removal(OurCurator):
    """Certified removal: records are features and a label, and the density of the first output is known."""

    def __init__(self, make: Output, columns: Sequence[TargetColumn]) -> None:
        super().__init__(make, columns[0])
        self.columns, self.label = tuple(columns), columns[-1].name

    def start(self, records: Sequence[Row], seed: int) -> Output:
        self._left = {record["id"]: self._point(record) for record in records}
        self._algorithm = self._make()
        return self._algorithm.start(list(self._left.values()), seeded(seed))

    def log_density(self, records: Sequence[Row], output: Sequence[float]) -> float:
        return float(self._make().log_density([self._point(r) for r in records], output))

    def _point(self, record: Row) -> tuple[float, ...]:
        return tuple(c.as_number(record[c.name]) for c in self.columns)


def _removal(settings: Mapping[str, Given]) -> Removal:
    y = TargetColumn("y", -1.0, 1.0) if settings.get("loss") == "ridge" else TargetColumn("y", values=(0, 1))
    unknown = [s for s in settings if s not in ("loss", "l2", "sigma")]
    if unknown:
        raise BadTarget(f"certified removal takes no setting {unknown[0]!r}.", "It takes: loss, l2, sigma.")
    return Removal(
        lambda: CertifiedRemoval(**settings),
        (TargetColumn("x0", -1.0, 1.0), TargetColumn("x1", -1.0, 1.0), y),
    )


def ours(kind: str, name: str, columns: Sequence[TargetColumn], settings: Mapping[str, Given]) -> OurCurator:
    """Return one of our algorithms by name."""
    if (kind, name) == ("baseline", "certified-removal"):
        return _removal(settings)
    full = f"{kind}-{name}" if kind in ("retrain", "recompute") else name
    known = [n for n in names() if _kind(n) == (OURS[kind] or FOLDERS[2])]
    if full not in known or (not OURS[kind] and full not in VARIANTS):
        raise UnknownName(f"{kind}s" if OURS[kind] else kind, name, known if OURS[kind] else _made_of(kind))
    unknown = [s for s in settings if s not in SETTINGS]
    if unknown:
        raise BadTarget(
            f"{kind}:{name} takes no setting {unknown[0]!r}.", f"It takes: {', '.join(SETTINGS)}."
        )
    chosen = SETTINGS | dict(settings)
    high = chosen["high"] or (round(columns[0].high) if columns and columns[0].is_number else _default(full))
    built = build(full, domain=high + 1, n=1, k=chosen["horizon"], noise=Budget(float(chosen["epsilon"])))
    column = (
        TargetColumn("x", values=tuple(map(str, range(high + 1))))
        if built.texts
        else TargetColumn("x", 0, high)
    )
    return OurCurator(built.make, column)


def _kind(name: str) -> str:
    base = VARIANTS.get(name, (name, {}))[0]
    return next(folder for folder in FOLDERS if base in registry.names(folder))


def _made_of(kind: str) -> list[str]:
    return [n.removeprefix(f"{kind}-") for n in VARIANTS if n.startswith(f"{kind}-")]


def _default(name: str) -> int:
    """The default `high`: large if outputs are exact, small if the noise grows with the range."""
    if name.endswith(("xor-pad", "xor-undeleted")):
        return 15
    exact = ("exact-sum", "retrain-", "bulletin", "frozen", "threshold")
    return (
        1000
        if name.startswith(exact)
        else 1
        if name.endswith(("sum", "mean", "count", "tree", "counter"))
        else 7
    )
