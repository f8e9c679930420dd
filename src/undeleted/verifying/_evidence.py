"""The evidence for a verdict: the witness or the simulator."""

from fractions import Fraction
from itertools import combinations

from undeleted.foundations.types import Json, Output
from undeleted.verifying._game_bounds import GameBounds, Where
from undeleted.verifying.history_tree import Label, Node, Tree, next_outputs
from undeleted.verifying.linear_program import ZERO
from undeleted.verifying.step_laws import Steps


def perfect_simulator(steps: Steps, tree: Tree) -> list[Json]:
    """The perfect simulator: the law of the next output, which does not depend on those who stay."""
    said = []

    def walk(given: Json, path: tuple[Output, ...], node: Node) -> None:
        for label, children in node.moves.items():
            d = next(d for c in children.values() for d in c.mass)
            law = {str(steps.outputs.shown(z)): str(p) for z, p in next_outputs(node, label, d).items()}
            said.append({**given, "then": list(path), "delete": list(label), "say": law})
            for z, child in children.items():
                walk(given, (*path, list(label), steps.outputs.shown(z)), child)

    for (first, leaked), node in tree.roots.items():
        leakage = {} if steps.leaks.values == [None] else {"leaked": steps.leaks.shown(leaked)}
        walk({"first": steps.outputs.shown(first)} | leakage, (), node)
    return said


def simulator_of(steps: Steps, bounds: GameBounds) -> list[Json] | None:
    """The simulator that the linear programs found, for every sequence of deletions."""
    said = []
    for requests, kernel in bounds.kernels:
        for (first, leaked), law in kernel.items():
            leakage = {} if steps.leaks.values == [None] else {"leaked": steps.leaks.shown(leaked)}
            views = {
                " then ".join(str(steps.outputs.shown(z)) for z in v[::2]): str(p) for v, p in law.items()
            }
            deleted = [point for label in requests or () for point in label]
            said.append({"first": steps.outputs.shown(first), **leakage, "delete": deleted, "say": views})
    return said or None


def witness_of(steps: Steps, where: Where | None) -> Json | None:
    """Two data sets, an attacker's strategy, and how it distinguishes them after the same first output."""
    if where is None:
        return None
    firsts = sorted({view[0] for view in where.views})
    best: tuple[Fraction, int, int, int] | None = None
    for first in firsts:
        laws = _given_first(where, first)
        for a, b in combinations(sorted(laws), 2):
            (p, one), (q, other) = laws[a], laws[b]
            if {view[1::2] for view in one} != {view[1::2] for view in other}:
                continue  # they differ in a deleted point, which an attacker may learn
            apart = (
                sum((abs(one.get(v, ZERO) - other.get(v, ZERO)) for v in one.keys() | other.keys()), ZERO) / 2
            )
            weight = min(p, q) * apart
            if best is None or weight > best[0]:
                best = weight, first, a, b
    if best is None or best[0] == 0:
        return None
    _, first, a, b = best
    laws = _given_first(where, first)
    views = sorted(laws[a][1].keys() | laws[b][1].keys(), key=repr)
    return {
        "data": [list(where.data_sets[a]), list(where.data_sets[b])],
        "strategy": _strategy(steps, where),
        "first": steps.outputs.shown(first),
        "first_probabilities": [str(laws[a][0]), str(laws[b][0])],
        "then": [
            {
                "deleted": [list(label) for label in view[1::2]],
                "outputs": [steps.outputs.shown(z) for z in view[2::2]],
                "probabilities": [str(laws[a][1].get(view, ZERO)), str(laws[b][1].get(view, ZERO))],
            }
            for view in views
        ],
    }


def _given_first(where: Where, first: int) -> dict[int, tuple[Fraction, dict[Output, Fraction]]]:
    """For every data set, the probability of a first output and the law of the views that follow it."""
    masses: dict[int, dict[Output, Fraction]] = {}
    for view, mass in where.views.items():
        if view[0] == first:
            for d, m in mass.items():
                masses.setdefault(d, {})[view] = m
    totals = {d: sum(law.values(), ZERO) for d, law in masses.items()}
    return {d: (totals[d], {v: m / totals[d] for v, m in law.items()}) for d, law in masses.items()}


def _strategy(steps: Steps, where: Where) -> Output:
    """The deletions in order, or for an adaptive attacker the next choice after each history."""
    if where.requests is not None:
        return [list(label) for label in where.requests]
    choices: dict[str, Json] = {}
    for view in where.views:
        for end in range(1, len(view), 2):
            seen = [steps.outputs.shown(z) if i % 2 == 0 else list(z) for i, z in enumerate(view[:end])]
            label: Label = view[end]
            if where.by_index:  # it chose an index, and learned the value after that
                choices[repr(view[:end])] = {"seen": seen, "index": label[0][0]}
            else:
                choices[repr(view[:end])] = {"seen": seen, "delete": list(label)}
    return list(choices.values())
