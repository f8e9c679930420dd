"""One simulator that answers online, against every adaptive attacker at once, as one linear program.

    choose     r(w, h) ≥ 0, the probability that the simulator, given w, answers the requests of h as in h:
               Σ_z r(w, h·y·z) = r(w, h) for every request y that can follow h
    attacker   v_D(h) ≥ Σ_z v_D(h·y·z) for every y that D allows: the attacker takes the best request
    at the end v_D(h) ≥ P_D(h) − E·Σ_w p_D(w) r(w, h)
    minimise   δ ≥ Σ_z0 v_D(z0) for every D;  where E > 1 the same with both exchanged

It does not know which attacker it faces and learns a deleted point only when it is deleted, so its δ is
an upper bound in the static game (played among fixed points) and in the dynamic one (among all points).
Histories with proportional likelihoods and futures are merged; this does not change the optimum.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from undeleted.foundations.types import Output
from undeleted.verifying.best_simulator import Bounds, Kernel
from undeleted.verifying.history_tree import Label, Mass, Node, shape_of
from undeleted.verifying.linear_program import ONE, ZERO, LinearProgram, rational

Seen = tuple[int, int]


@dataclass(frozen=True)
class Online:
    """The game of one simulator against all attackers: `roots` by z0, inputs by (z0, leaked)."""

    inputs: Mapping[Seen, Mass]
    roots: Mapping[int, Node]
    keep: bool

    def merged(self) -> "Online":
        """The same game, with equivalent histories and inputs merged."""
        known: dict[Output, int] = {}
        roots = [({z}, _compact(node, known)) for z, node in self.roots.items() if node.mass]
        groups: dict[Output, tuple[set[int], Node]] = {}
        for firsts, (shape, node) in roots:
            key = min(firsts) if self.keep else shape
            if key in groups:
                groups[key] = groups[key][0] | firsts, _sum(groups[key][1], node)
            else:
                groups[key] = firsts, node
        names = {min(firsts): node for firsts, node in groups.values()}
        by_likelihood: dict[Output, tuple[Seen, Mass]] = {}
        for seen, mass in self.inputs.items():
            likelihood = (seen[0] if self.keep else None, shape_of(mass))
            name, sums = by_likelihood.get(likelihood, (seen, {}))
            by_likelihood[likelihood] = name, {d: sums.get(d, ZERO) + m for d, m in mass.items()}
        return Online(dict(by_likelihood.values()), names, self.keep)

    def solve(self, low: Fraction, seconds: float) -> tuple[Bounds, "Preferred"]:
        """The best online simulator for a factor of at most e^ε, and the attacker's best requests."""
        program, at, asks = self._program(low)  # only its upper bound is used
        solved = program.solve(seconds)
        kernel = self._kernel(at, solved.values)
        upper = self.distance(kernel, low)
        if not solved.exact:  # perhaps out of time: try the simulator that continues as the average data set
            average = self._kernel(at, [ZERO] * len(program.costs))
            upper = min(upper, self.distance(average, low))
        weights: dict[int, dict[Label, float]] = {}
        for (node, label), rows in asks.items():
            weights.setdefault(node, {})[label] = sum(solved.duals[row] for row in rows)
        preferred = {
            node: max(sorted(labels, key=repr), key=labels.__getitem__) for node, labels in weights.items()
        }
        return Bounds(max(ZERO, solved.bound), upper, len(program.costs), kernel), preferred

    def size(self) -> int:
        """The approximate number of variables of the program."""
        data = {d for mass in self.inputs.values() for d in mass}
        nodes = sum(1 for root in self.roots.values() for _ in _nodes(root))
        return nodes * (len(data) + (1 if self.keep else len(self.inputs)))

    def _begins(self, w: Seen) -> list[int]:
        return [w[0]] if self.keep else list(self.roots)

    def _program(
        self, factor: Fraction
    ) -> tuple[LinearProgram, dict[tuple[Seen, int], int], dict[tuple[int, Label], list[int]]]:
        program = LinearProgram()
        delta = program.variable(ONE)
        at: dict[tuple[Seen, int], int] = {}
        asks: dict[tuple[int, Label], list[int]] = {}
        data = sorted({d for mass in self.inputs.values() for d in mass})

        for w in self.inputs:
            begins = self._begins(w)
            for z in begins:
                for node in _nodes(self.roots[z]):
                    at[w, id(node)] = program.variable()
            program.equals({at[w, id(self.roots[z])]: ONE for z in begins}, ONE)
            for z in begins:
                for node in _nodes(self.roots[z]):
                    for children in node.moves.values():
                        flow = {at[w, id(child)]: ONE for child in children.values()}
                        program.equals(flow | {at[w, id(node)]: -ONE}, ZERO)

        def simulated(node: Node, d: int) -> dict[int, Fraction]:
            return {
                at[w, id(node)]: mass[d]
                for w, mass in self.inputs.items()
                if d in mass and (w, id(node)) in at
            }

        def excess(node: Node, d: int, reverse: bool) -> int:
            value = program.variable()
            ways = moves_of(node, d)
            if not ways:
                sign, side = (-1, -factor) if reverse else (factor, ONE)
                terms = {j: sign * p for j, p in simulated(node, d).items()}
                program.at_least({value: ONE} | terms, side * node.mass.get(d, ZERO))
            for label, children in ways.items():
                after = [c for c in children.values() if reverse or d in c.mass]
                row = program.at_least({value: ONE} | {excess(c, d, reverse): -ONE for c in after}, ZERO)
                asks.setdefault((id(node), label), []).append(row)
            return value

        for reverse in (False,) if factor == 1 else (False, True):
            for d in data:
                roots = [root for root in self.roots.values() if reverse or d in root.mass]
                program.at_least({delta: ONE} | {excess(root, d, reverse): -ONE for root in roots}, ZERO)
        return program, at, asks

    def _kernel(self, at: Mapping[tuple[Seen, int], int], values: Output) -> Kernel:
        """What the simulator says next, in rationals: by (input, node, request); at the start by input."""
        kernel: Kernel = {}
        for w in self.inputs:
            begins = {z: self.roots[z] for z in self._begins(w)}
            kernel[w] = _shares({z: values[at[w, id(node)]] for z, node in begins.items()}, begins)
            for root in begins.values():
                for node in _nodes(root):
                    for label, children in node.moves.items():
                        said = {z: values[at[w, id(child)]] for z, child in children.items()}
                        kernel[w, id(node), label] = _shares(said, children)
        return kernel

    def distance(self, kernel: Kernel, factor: Fraction) -> Fraction:
        """The distance of an online simulator from the real game, against its worst attacker."""

        def excess(node: Node, d: int, said: dict[Seen, Fraction], reverse: bool) -> Fraction:
            ways = moves_of(node, d)
            if not ways:
                q = sum((self.inputs[w].get(d, ZERO) * r for w, r in said.items()), ZERO)
                p = node.mass.get(d, ZERO)
                return max(ZERO, q - factor * p if reverse else p - factor * q)
            best = ZERO
            for label, children in ways.items():
                total = ZERO
                for z, child in children.items():
                    if reverse or d in child.mass:
                        then = {w: r * kernel[w, id(node), label].get(z, ZERO) for w, r in said.items()}
                        total += excess(child, d, {w: r for w, r in then.items() if r}, reverse)
                best = max(best, total)
            return best

        worst = ZERO
        for d in {d for mass in self.inputs.values() for d in mass}:
            for reverse in (False, True):
                total = ZERO
                for z, root in self.roots.items():
                    said = {w: kernel[w].get(z, ZERO) for w in self.inputs}
                    total += excess(root, d, {w: r for w, r in said.items() if r}, reverse)
                worst = max(worst, total)
        return worst


Preferred = dict[int, Label]  # a request for every node, by its id


def moves_of(node: Node, d: int) -> dict[Label, dict[int, Node]]:
    """The requests that a data set allows at this node; none if it cannot reach the node."""
    if d not in node.mass:
        return {}
    return {
        label: children
        for label, children in node.moves.items()
        if any(d in c.mass for c in children.values())
    }


def attackers(roots: Mapping[int, Node]) -> Iterator[Preferred]:
    """Every deterministic attacker of a static game, as a request for every node that it can reach."""

    def below(node: Node) -> Iterator[Preferred]:
        if not node.moves:
            yield {}
        for label, children in node.moves.items():
            for parts in product(*(list(below(child)) for child in children.values())):
                yield {id(node): label} | {k: v for part in parts for k, v in part.items()}

    for parts in product(*(list(below(root)) for root in roots.values())):
        yield {k: v for part in parts for k, v in part.items()}


def equivalent_first_outputs(roots: Mapping[int, Node]) -> list[list[int]]:
    """The first outputs in groups with proportional likelihoods and futures."""
    known: dict[Output, int] = {}
    groups: dict[int, list[int]] = {}
    for z, node in sorted(roots.items()):
        if node.mass:
            groups.setdefault(_compact(node, known)[0], []).append(z)
    return list(groups.values())


def count_attackers(roots: Mapping[int, Node]) -> int:
    def below(node: Node) -> int:
        if not node.moves:
            return 1
        return sum(prod(map(below, children.values())) for children in node.moves.values())

    return prod(map(below, roots.values()))


def chooser(preferred: Preferred) -> Callable[[Output, Node], Label | None]:
    """An attacker in the form that `leaves` needs; without a preference it takes the first request."""
    return lambda _, node: preferred.get(id(node), next(iter(node.moves))) if node.moves else None


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for children in node.moves.values():
        for child in children.values():
            yield from _nodes(child)


def _compact(node: Node, known: dict[Output, int]) -> tuple[int, Node]:
    """A node with children of the same shape merged, and the number of its shape (all but its total mass)."""
    total = sum(node.mass.values(), ZERO)
    moves: dict[Label, dict[int, Node]] = {}
    shapes = []
    for label, children in node.moves.items():
        groups: dict[int, tuple[int, Node]] = {}
        for z, child in children.items():
            shape, small = _compact(child, known)
            groups[shape] = (
                (groups[shape][0], _sum(groups[shape][1], small)) if shape in groups else (z, small)
            )
        moves[label] = dict(groups.values())
        weights = ((shape, sum(c.mass.values(), ZERO) / total) for shape, (_, c) in groups.items())
        shapes.append((label, frozenset(weights)))
    key = (shape_of(node.mass), frozenset(shapes))
    return known.setdefault(key, len(known)), Node(dict(node.mass), moves)


def _sum(one: Node, other: Node) -> Node:
    """The sum of two merged nodes of the same shape: all masses scale by the same factor."""
    factor = 1 + sum(other.mass.values(), ZERO) / sum(one.mass.values(), ZERO)

    def scale(node: Node) -> Node:
        moves = {label: {z: scale(c) for z, c in cs.items()} for label, cs in node.moves.items()}
        return Node({d: m * factor for d, m in node.mass.items()}, moves)

    return scale(one)


def _shares(values: Mapping[int, Output], nodes: Mapping[int, Node]) -> dict[int, Fraction]:
    """The solver's numbers as rational probabilities; where they are all about 0, the nodes' own masses."""
    shares = {z: rational(v) for z, v in values.items()}
    total = sum(shares.values(), ZERO)
    if total < Fraction(1, 10**7):
        shares = {z: sum(node.mass.values(), ZERO) for z, node in nodes.items()}
        total = sum(shares.values(), ZERO)
    return {z: v / total for z, v in shares.items() if v}
