"""The best simulator against one attacker, by linear programming (non-adaptive and static games).

    given      p_D(w)   probability that D gives the simulator the input w  (first output and leakage)
               P_D(τ)   probability that the attacker sees τ when the data set is D
    choose     K(τ | w) ≥ 0 with Σ_τ K(τ | w) = 1
    minimise   δ   with   Σ_τ max(0, P_D(τ) − E·Q_D(τ)) ≤ δ   for every D,      Q_D = Σ_w p_D(w) K(· | w)
               and, where E = e^ε > 1, the same with P and Q exchanged

A simulator that must keep the z0 that it was given may only put mass on a τ that begins with it.

Before it is solved the program is made smaller without changing its optimum: data sets with equal laws count
once; views whose likelihoods under all data sets are proportional are merged, because only likelihoods
matter; and so are inputs.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from undeleted.foundations.types import Output
from undeleted.verifying.history_tree import Mass, shape_of
from undeleted.verifying.linear_program import ONE, ZERO, LinearProgram, rational

Kernel = dict[Output, dict[Output, Fraction]]  # K(τ | w), by w


@dataclass(frozen=True)
class Bounds:
    """What is proven about an optimum, and the best simulator found."""

    lower: Fraction
    upper: Fraction
    variables: int
    kernel: Kernel

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


@dataclass(frozen=True)
class Channel:
    """Inputs and views with their masses; `keep` says whether τ must begin with the z0 of w."""

    inputs: Mapping[Output, Mass]
    views: Mapping[Output, Mass]
    begins: Callable[[Output], Hashable]  # the z0 of an input or a view
    keep: bool

    def solve(self, low: Fraction, high: Fraction, seconds: float) -> Bounds:
        """The least δ for a factor e^ε between `low` and `high`; low = high = 1 is total variation."""
        small = _merged(self)
        program, kernel_at = small._program(low)  # a simulator for a smaller factor is one for e^ε
        solved = program.solve(seconds)
        kernel = small._kernel(kernel_at, solved.values)
        upper = distance(small.inputs, small.views, kernel, low)
        lower = max(ZERO, solved.bound)
        if low < high and upper > 0:  # a lower bound for a larger factor also holds for e^ε
            lower = max(ZERO, small._program(high)[0].solve(seconds).bound)
        result = self._spread(kernel)
        if not solved.exact:
            guess = self._average()
            at_best = distance(self.inputs, self.views, guess, low)
            result, upper = (guess, at_best) if at_best < upper else (result, upper)
            lower = max(lower, small._pairs() if high == 1 else ZERO)
        return Bounds(lower, upper, len(program.costs), result)

    @property
    def plain_variables(self) -> int:
        """The number of variables of the program with nothing merged, for the data sets that are here."""
        data = {d for mass in self.inputs.values() for d in mass}
        return 1 + len(self.views) * (len(self.inputs) + len(data))

    def program(self, factor: Fraction = ONE) -> LinearProgram:
        """The program with nothing merged."""
        return self._program(factor)[0]

    def may(self, w: Output, view: Output) -> bool:
        return not self.keep or self.begins(w) == self.begins(view)

    def _program(self, factor: Fraction) -> tuple[LinearProgram, dict[tuple[Output, Output], int]]:
        program = LinearProgram()
        delta = program.variable(ONE)
        at = {(w, v): program.variable() for w in self.inputs for v in self.views if self.may(w, v)}
        totals: dict[tuple[int, bool], dict[int, Fraction]] = {}
        ways = (False,) if factor == 1 else (False, True)
        data = {d for mass in self.inputs.values() for d in mass}
        for v, mass in self.views.items():
            into = [(w, at[w, v]) for w in self.inputs if (w, v) in at]
            for d in data:
                simulated = {j: self.inputs[w][d] for w, j in into if d in self.inputs[w]}
                for reverse in ways:
                    real = mass.get(d, ZERO)
                    if (not real and not reverse) or (reverse and not simulated):
                        continue
                    excess = program.variable()
                    sign, side = (-1, -factor * real) if reverse else (factor, real)
                    program.at_least({excess: ONE} | {j: sign * p for j, p in simulated.items()}, side)
                    totals.setdefault((d, reverse), {delta: ONE})[excess] = -ONE
        for terms in totals.values():
            program.at_least(terms, ZERO)
        for w in self.inputs:
            program.equals({j: ONE for (given, _), j in at.items() if given == w}, ONE)
        return program, at

    def _kernel(self, at: Mapping[tuple[Output, Output], int], values: Output) -> Kernel:
        """A simulator in rationals from the solver's numbers: no negative ones, and each row adds up to 1."""
        kernel: Kernel = {w: {} for w in self.inputs}
        for (w, v), j in at.items():
            value = rational(values[j])
            if value:
                kernel[w][v] = value
        for w, row in kernel.items():
            total = sum(row.values(), ZERO)
            allowed = [v for v in self.views if self.may(w, v)]
            kernel[w] = {v: p / total for v, p in row.items()} if total else {allowed[0]: ONE}
        return kernel

    def _average(self) -> Kernel:
        """A fallback simulator: keep z0, and continue as the data sets do on average."""
        weight = {v: sum(mass.values(), ZERO) for v, mass in self.views.items()}
        results: Kernel = {}
        for w in self.inputs:
            kept = {v: p for v, p in weight.items() if self.begins(v) == self.begins(w)}
            likely = kept or weight  # views that were merged may begin with another z0 than w
            total = sum(likely.values(), ZERO)
            results[w] = {v: p / total for v, p in likely.items()}
        return results

    def _pairs(self) -> Fraction:
        """δ ≥ (TV of the views − TV of the inputs) / 2, for every two data sets."""
        data = sorted({d for mass in self.inputs.values() for d in mass})
        apart = ((_apart(self.views, a, b), _apart(self.inputs, a, b)) for a, b in combinations(data, 2))
        return max(((views - inputs) / 2 for views, inputs in apart), default=ZERO)

    def _spread(self, kernel: Kernel) -> Kernel:
        """A simulator of merged views as one of single views: each merged view is split by likelihood."""
        weight = {v: sum(self.views[v].values(), ZERO) for v in self.views}
        full: Kernel = {}
        for merged, row in kernel.items():
            shares = {group: p / sum((weight[v] for v in group), ZERO) for group, p in row.items()}
            whole = {v: share * weight[v] for group, share in shares.items() for v in group}
            for w in merged:
                full[w] = whole
        return full


def distance(
    inputs: Mapping[Output, Mass], views: Mapping[Output, Mass], kernel: Kernel, factor: Fraction
) -> Fraction:
    """The exact worst-case distance of a simulator from the real views."""
    assert all(sum(kernel[w].values(), ZERO) == 1 for w in inputs), "probabilities must add up to 1"
    simulated: dict[Output, Mass] = {}
    for w, row in kernel.items():
        for v, p in row.items():
            into = simulated.setdefault(v, {})
            for d, mass in inputs[w].items():
                into[d] = into.get(d, ZERO) + mass * p
    excess: dict[tuple[int, bool], Fraction] = {}
    for v in views.keys() | simulated.keys():
        real, fake = views.get(v, {}), simulated.get(v, {})
        for d in real.keys() | fake.keys():
            p, q = real.get(d, ZERO), fake.get(d, ZERO)
            for reverse, over in ((False, p - factor * q), (True, q - factor * p)):
                if over > 0:
                    excess[d, reverse] = excess.get((d, reverse), ZERO) + over
    return max(excess.values(), default=ZERO)


def _apart(masses: Mapping[Output, Mass], a: int, b: int) -> Fraction:
    """The total variation between the laws of two data sets."""
    return sum((abs(m.get(a, ZERO) - m.get(b, ZERO)) for m in masses.values()), ZERO) / 2


def _merged(channel: Channel) -> Channel:
    """The same channel with fewer data sets, views and inputs; a view is now a tuple of views."""
    laws: dict[Output, list[tuple[Output, Fraction]]] = {}
    for side, masses in (("w", channel.inputs), ("v", channel.views)):
        for name, mass in masses.items():
            for d, m in mass.items():
                laws.setdefault(d, []).append(((side, name), m))
    unlike: dict[Output, int] = {}
    for d, law in laws.items():
        unlike.setdefault(frozenset(law), d)
    data = set(unlike.values())

    def merge(masses: Mapping[Output, Mass]) -> dict[Output, Mass]:
        groups: dict[Output, tuple[list[Output], Mass]] = {}
        for name, mass in masses.items():
            kept = {d: m for d, m in mass.items() if d in data}
            key = (channel.begins(name) if channel.keep else None, shape_of(kept))
            names, sums = groups.setdefault(key, ([], {}))
            names.append(name)
            for d, m in kept.items():
                sums[d] = sums.get(d, ZERO) + m
        return {tuple(names): sums for names, sums in groups.values()}

    return Channel(
        merge(channel.inputs), merge(channel.views), lambda name: channel.begins(name[0]), channel.keep
    )
