"""Audit a black box: does honouring deletions here expose the people who stay, and does it forget?

    probe        is it a function of its records and seed; does the seed matter
    forgetting   deleting against starting afresh
    exposures    values of people who stay, read off by structural attacks
    collisions   worlds with the same first output that deletions tell apart: a proof if deterministic
    certify      for randomised targets: bounds at a stated rate of false alarms

It ends within its budget, with `broken`, `not perfectly safe` or `not broken by these attacks`; never with
"secure".
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from undeleted import registry
from undeleted.audit.certify import CANDIDATES, LOOKS, PARTS, Candidate, Judgement, look, pilot
from undeleted.audit.collisions import (
    FEW_SEEDS,
    SEEDS,
    Find,
    Search,
    is_deterministic,
    more_worlds,
    search,
    shrink,
)
from undeleted.audit.columns import Column
from undeleted.audit.exposures import Attack, Exposure
from undeleted.audit.forgetting import Forgetting, forgetting
from undeleted.audit.lab import Lab, apart
from undeleted.audit.pairs import Pair, Space, pairs
from undeleted.audit.targets import Named, Target
from undeleted.audit.targets._program import BudgetOver, Clock
from undeleted.audit.verdict import Options, Verdict
from undeleted.coins import Seeded, seeded
from undeleted.errors import TargetFailed

__all__ = ["Options", "Verdict", "audit"]

EXPOSURES = "undeleted.audit.exposures"
WIDE = Column("x", 0, 10**6)  # for a target that takes any number
ENOUGH = (1000, 400)  # pairs tried and collided, after which a deterministic target is left alone
PROBES = 3
TRIES = 12  # of which so many worlds may be refused
COUPLED = 6  # pairs that collide under a common seed, for a randomised target to be judged by
SMALL = 8  # people, in the first runs and for targets that are slow
FEW_CALLS = 3000


def audit(
    target: Named | str, options: Options | None = None, progress: Callable[[float, str], None] | None = None
) -> Verdict:
    """Audit a target within its budget.

    >>> found = audit("retrain:median", Options(budget=20))
    >>> found.undeleted, found.delta >= 0.5, found.forgets.verdict
    ('broken', True, 'yes')
    """
    options = options or Options()
    named = Named(target) if isinstance(target, str) else target
    clock = Clock(options.budget, options.patience)
    with open_target(named, clock, hide=bool(options.rows)) as running:
        return _Audit(named, running, options, clock, progress or (lambda share, text: None)).run()


def open_target(named: Named, clock: Clock, *, hide: bool) -> Target:
    """A running target; one that takes all the time there is to be loaded has failed."""
    try:
        return Target(named, clock, hide=hide)
    except BudgetOver:
        reason = f"the budget of {clock.budget:g} s was over before it was loaded"
        raise TargetFailed("loading the target", reason, "Give it a larger --budget.") from None


class _Audit:
    def __init__(
        self,
        named: Named,
        target: Target,
        options: Options,
        clock: Clock,
        progress: Callable[[float, str], None],
    ) -> None:
        self.named, self.target, self.options, self.clock = named, target, options, clock
        self.lab = Lab(target, options.digits)
        self.space = Space(target.columns, target.label, options.people, options.rows)
        self.coins: Seeded = seeded(f"audit {options.seed}")
        self._progress = progress
        self.alpha = 1 - options.confidence
        self.attacks: list[dict[str, Any]] = []
        self.exposures: list[Exposure] = []
        self.indications: list[str] = []
        self.findings: list[dict[str, Any]] = []
        self.assumptions: list[str] = []
        self.judged: list[Judgement] = []
        self.search = Search()
        self.piloted: list[Candidate] = []
        self.forgets = Forgetting("unknown", "the budget ended before it could be judged")
        self.verdict, self.argument = "", ""
        self.delta: float | None = None
        self.randomised = False
        self.pace = 0.0  # seconds a call

    def until(self, share: float, text: str) -> Callable[..., bool]:
        """Whether this part's share of the budget is still there."""

        def go_on(*_: Any) -> bool:
            self._progress(self.clock.spent / self.clock.budget, text)
            return self.clock.spent < share * self.clock.budget

        return go_on

    def run(self) -> Verdict:
        try:
            self.randomised = self._probe()
        except BudgetOver:
            reason = f"the budget of {self.clock.budget:g} s was over before the first deletions were done"
            raise TargetFailed("the first runs", reason, "Give it a larger --budget.") from None
        try:
            self._look_for_collisions()
            self._judge_forgetting()
            self._look_for_exposures()
            if not self.verdict and self.randomised:
                self._certify()
        except BudgetOver:
            pass
        return self._conclude()

    # -- the parts ---------------------------------------------------------------------------------

    def _probe(self) -> bool:
        """Whether the seed matters; refuses a target that is no function of its records and seed."""
        go_on, randomised = self.until(1.0, "the first runs"), False
        small = replace(self.space, most=SMALL)
        sources = [pairs(space, self.coins, ("redraw",)) for space in (small, self.space)]
        played: list[tuple[Pair, list[int]]] = []
        for tries in range(TRIES):
            go_on()
            large = tries >= TRIES // 2  # what refuses small worlds gets larger ones
            pair, seeds = next(sources[large]), [int(s) for s in self.coins.integers(0, 2**31, 4)]
            try:
                if not played:
                    self._step_by_step(pair, seeds[0])
                seeds = seeds[:2] if self._is_slow() else seeds
                first = self.lab.plays(pair.one, pair.batches, [seeds[0], *seeds])
            except TargetFailed as failure:
                if not failure.reported or (tries == TRIES - 1 and not played):
                    raise
                continue
            if first[0] != first[1] and not self.options.unseeded:
                self._refuse(pair, first)
            randomised = randomised or len(set(first[1:])) > 1
            played.append((pair, seeds))
            if len(played) == PROBES or self._is_slow():
                break
        self._look_twice(*played[-1], randomised)
        if self._is_slow() and not large:
            self.space = small
        return randomised or self.options.unseeded

    def _step_by_step(self, pair: Pair, seed: int) -> None:
        """Call after call, so that one that fails can be named; and how long a call takes."""
        began = self.clock.spent
        self.lab.seen(self.target.start(pair.one, seed))
        for batch in pair.batches:
            self.lab.seen(self.target.delete(batch), batch)
        self.pace = (self.clock.spent - began) / (1 + len(pair.batches))

    def _is_slow(self) -> bool:
        """Whether the budget is for few calls: then worlds are small, and checks are fewer."""
        return self.pace * FEW_CALLS > self.clock.budget

    def _refuse(self, pair: Pair, first: Sequence[Any]) -> None:
        at = next(i for i, (a, b) in enumerate(zip(first[0], first[1], strict=True)) if a != b)
        call = f"start with {len(pair.one)} records" if at == 0 else f"delete {pair.own[at - 1]}"
        reason = "the same records, deletions and seed gave another output: it changes without a deletion"
        raise TargetFailed(call, reason, "If it draws randomness of its own, say --unseeded.")

    def _look_twice(self, pair: Pair, seeds: Sequence[int], randomised: bool) -> None:
        """What is published stays as it is while nobody leaves; an accident of one seed is no reason."""
        looks = [("looking again", self.target.look)] if self.target.can_look else []
        if not randomised:
            looks.append(("delete nobody", lambda: self.target.delete([])))
        for call, again_by in looks:
            changed = 0
            for seed in seeds[:2]:
                first = self.lab.seen(self.target.start(pair.one, seed))
                try:
                    changed += apart(first, self.lab.seen(again_by())) > self.options.tolerance
                except TargetFailed as failure:
                    if not failure.reported:
                        raise
            if changed == 2:
                raise TargetFailed(call, "its output changed without a deletion")

    def _judge_forgetting(self) -> None:
        go_on = self.until(max(0.2, self.clock.spent / self.clock.budget + 0.1), "does it forget?")
        free = bool(self.target.about.get("free")) and not self.options.rows
        self.forgets = forgetting(self.lab, self.space, self.coins, self.alpha, go_on, extremes=free)
        if self.forgets.verdict == "no" and self.forgets.evidence:
            self.findings.append({"kind": "forgets", **self.forgets.evidence})

    def _look_for_exposures(self) -> None:
        go_on = self.until(0.6, "reading values off")
        free = self.target.about.get("free") and len(self.space.columns) == 1 and not self.options.rows
        wide = (replace(WIDE, name=self.space.columns[0].name),)
        space = replace(self.space, columns=wide) if free else self.space
        for name in registry.names(EXPOSURES):
            attack: Attack = registry.find(EXPOSURES, name)()
            found, staged = None, False
            for stage in attack.stages(space, self.coins):
                if not go_on():
                    return
                if 2 * self.pace * len(stage.own) > 0.2 * self.clock.budget:
                    continue  # it would take too long
                staged, seed = True, int(self.coins.integers(0, 2**31, 1)[0])
                try:
                    found = attack.play(self.lab, stage, seed)
                except TargetFailed as failure:
                    if not failure.reported:
                        raise
                if found is not None:
                    self.exposures.append(found)
                    self.findings.append(
                        {"kind": "exposure", **found.as_json(), "stage": stage.as_json(), "seed": seed}
                        | {"claims": found.claims}
                    )
                    break
            if staged:
                result = "nothing" if found is None else f"{found.exposed} of {found.of} values exposed"
                self.attacks.append({"attack": name, "kind": "structural", "result": result})

    def _look_for_collisions(self) -> None:
        """A pair with the same first output; for a deterministic target it is a proof."""
        share = self.until(0.35 if self.randomised else 0.8, "looking for colliding worlds")
        tolerance = self.options.tolerance

        def go_on(done: Search) -> bool:
            return share() and not (done.tried >= ENOUGH[0] and done.collided >= ENOUGH[1])

        wanted = COUPLED if self.randomised else 1
        found = self.search = search(self.lab, self.space, self.coins, go_on, tolerance, wanted)
        if found.rounding:
            pair, seed, where = found.rounding
            self.findings.append(self._collision("rounding", pair, pair.batches[:where], seed))
        try:
            if found.found:
                self._settle(found, self.until(0.45 if self.randomised else 0.9, "making the witness small"))
        finally:
            self.attacks += found.attacks(self.randomised)

    def _settle(self, found: Search, go_on: Callable[..., bool]) -> None:
        """First the proof, then a smaller and a stronger one; what is known stands when time is up."""
        pair, batches, seed = found.found[0].pair, found.found[0].batches, found.found[0].seed
        tolerance = self.options.tolerance
        seeds = FEW_SEEDS if self._is_slow() else SEEDS
        if not is_deterministic(self.lab, pair, batches, seed, self.coins, FEW_SEEDS):
            return  # to be judged on many runs
        self._prove(pair, batches, seed, [pair.one, pair.other], FEW_SEEDS)
        pair, batches = shrink(self.lab, pair, batches, seed, go_on, tolerance)
        found.found[0] = Find(pair, batches, seed)
        if not is_deterministic(self.lab, pair, batches, seed, self.coins, seeds):
            self.verdict, self.delta, self.argument = "", None, ""
            self.assumptions.clear()
            self.findings = [f for f in self.findings if f["kind"] != "collision"]
            return
        self._prove(pair, batches, seed, [pair.one, pair.other], seeds)
        worlds = more_worlds(self.lab, self.space, pair, batches, seed, self.coins, go_on, tolerance)
        self._prove(pair, batches, seed, worlds, seeds)

    def _prove(self, pair: Pair, batches: Any, seed: int, worlds: Sequence[Any], seeds: int) -> None:
        """Worlds that share the first output and all differ later: no simulator is right in two of them."""
        self.verdict, self.delta = "broken", 1 - 1 / len(worlds)
        self.assumptions = [f"the target is deterministic: one transcript on {seeds + 1} seeds"]
        self.argument = (
            f"{len(worlds)} worlds share the first output and all differ after {_deletions(batches)}: "
            f"δ ≥ 1 − 1/{len(worlds)}"
        )
        proof = self._collision("collision", pair, batches, seed) | {"worlds": [list(w) for w in worlds]}
        self.findings = [*(f for f in self.findings if f["kind"] != "collision"), proof]

    def _certify(self) -> None:
        """Bounds for a randomised target, the rate of false alarms shared among all looks."""
        first = self.options.first
        if first.epsilon is not None:
            self.assumptions.append(
                f"the first output is ({first.epsilon:g}, {first.delta:g})-DP for a replacement"
            )
        if self.lab.has_density:
            self.assumptions.append(
                "the density that the target states for its first output, in exact arithmetic"
            )
        candidates = self._candidates()
        alpha = self.alpha / (CANDIDATES * len(LOOKS))
        for i, candidate in enumerate(candidates):
            share = 0.6 + 0.37 * (i + 1) / len(candidates)
            if self._judge(candidate, self.until(share, "judging on fresh runs"), share, alpha):
                break
        self._indicate()

    def _judge(self, candidate: Candidate, go_on: Callable[..., bool], share: float, alpha: float) -> bool:
        """Stopping point after stopping point, as far as time allows; whether one convicts."""
        pace, before = 0.0, len(self.judged)
        for runs in LOOKS:
            began = self.clock.spent
            if not go_on() or began + pace * runs / 2 > share * self.clock.budget:
                break
            try:
                judgement = look(
                    self.lab, candidate, runs, self.coins, self.options.first, alpha, self.options.tolerance
                )
            except TargetFailed as failure:
                if not failure.reported:
                    raise
                break  # errors under some seeds: runs cannot be dropped without a bias
            pace = (self.clock.spent - began) / runs
            self.judged.append(judgement)
            self._convict(judgement, alpha)
            if judgement.delta > max(0.05, 0.35 * candidate.promise):
                break  # more runs would move the bound by little
        if len(self.judged) > before:
            last = self.judged[-1]
            self.attacks.append(
                last.as_json() | {"attack": "learned", "kind": "learned", "result": _told(last)}
            )
        return self.verdict == "broken"

    def _candidates(self) -> list[Candidate]:
        """The most promising pairs, the one that collides under a common seed among them."""
        go_on, made = self.until(0.6, "looking for promising worlds"), list[Candidate]()
        first = self.options.first
        known = [(f.pair, f.batches) for f in self.search.found]
        for pair, batches in chain(known, ((p, p.batches) for p in pairs(self.space, self.coins))):
            if not go_on() or (made and made[0].promise > 0.6) or len(made) >= 60:
                break
            if pair.one == pair.other:
                continue
            try:
                made.append(pilot(self.lab, pair, batches, self.coins, first))
            except TargetFailed as failure:
                if not failure.reported:
                    raise
            made.sort(key=lambda c: -c.promise)
        self.piloted = made
        return made[:CANDIDATES]

    def _convict(self, judgement: Judgement, alpha: float) -> None:
        """What a judgement proves, if anything; the larger bound is kept."""
        if judgement.delta > max(0.0, self.delta or 0.0):
            self.verdict, self.delta = "broken", judgement.delta
            self.argument = (
                f"advantage at least {judgement.advantage_at_least:.3g} with the updates, first outputs "
                f"at most {judgement.first_at_most:.3g} apart (by {judgement.first_by})"
            )
            self._replace_finding(judgement)
        elif not self.verdict and judgement.p_value <= alpha * PARTS["imperfect"]:
            self.verdict = "not perfectly safe"
            self.argument = (
                f"given the first output, the updates tell two worlds apart (p = {judgement.p_value:.1g}, "
                f"{judgement.compared} runs compared)"
            )
            self._replace_finding(judgement)

    def _replace_finding(self, judgement: Judgement) -> None:
        self.findings = [f for f in self.findings if f["kind"] != "statistics"]
        self.findings.append(
            {
                "kind": "statistics",
                **_pair_json(judgement.pair, judgement.batches),
                "runs": judgement.runs,
                "assumed": {"epsilon": self.options.first.epsilon, "delta": self.options.first.delta},
                "confidence": self.options.confidence,
                "shows": self.verdict,
                "was": judgement.as_json(),
            }
        )

    def _indicate(self) -> None:
        """A difference of two learned advantages: worth saying, and no bound."""
        best = max(self.piloted, key=lambda c: c.advantage - c.first_advantage, default=None)
        if self.verdict or best is None or best.advantage - best.first_advantage <= 0.25:
            return
        self.indications.append(
            f"learned from few runs, updates told two worlds apart with advantage {best.advantage:.2f}, "
            f"the first output alone with {best.first_advantage:.2f}: an indication, no bound"
        )
        if best.unbounded:
            self.indications.append(
                "nothing bounds how far those first outputs are apart, so nothing could be certified: state "
                "their privacy (--first-epsilon) or density (log_density), or what is seen (--digits)"
            )

    def _conclude(self) -> Verdict:
        if not self.verdict and self.search.near and not self.search.collided:
            self.indications.append(
                f"{self.search.near} pairs had first outputs that agree to 12 digits and no further; "
                "an observer who sees fewer digits (--digits 9) may be another matter"
            )
        if not self.verdict and self.randomised and self.search.found:
            self.indications.append(
                f"with its seed fixed to {self.search.found[0].seed}, two worlds with the same first output "
                "are told apart: a curator that always used that seed would be broken"
            )
        if not self.verdict and self.exposures:
            self.indications.append("values of people who stay were read off, without a bound on δ")
        tried = len({a["attack"] for a in self.attacks})
        confidence = f"{self.options.confidence:.0%}".replace("%", " %")
        plural = "s" if tried != 1 else ""
        verdict = self.verdict or f"not broken by these {tried} attack{plural} ({confidence})"
        return Verdict(
            target=self.named,
            undeleted=verdict,
            forgets=self.forgets,
            delta=self.delta,
            argument=self.argument,
            assumptions=tuple(self.assumptions),
            attacks=tuple(self.attacks),
            exposures=tuple(self.exposures),
            smallest=self._smallest(),
            indications=tuple(self.indications),
            rounding=self._rounding(),
            findings=tuple(self.findings),
            columns=self.space.columns,
            randomised=self.randomised,
            real_values=bool(self.options.rows),
            versions=dict(self.target.about.get("versions", {})),
            options=self.options,
            runs=self.target.calls,
            seconds=self.clock.spent,
        )

    def _smallest(self) -> str:
        """The smallest leak that this audit would have seen."""
        said = []
        if self.verdict:
            return "does not matter: it was seen"
        if self.search.independent:
            share = 1 - (1 - self.options.confidence) ** (1 / self.search.independent)
            said.append(
                f"one that shows in {share:.2g} of the pairs of worlds with the same first output that this "
                f"audit draws ({self.search.independent} were)"
            )
        bounded = [j for j in self.judged if j.first_at_most < 1]
        if bounded:
            best = min(bounded, key=lambda j: j.first_at_most + j.advantage_needed)
            said.append(
                f"an advantage of {best.advantage_needed + best.first_at_most:.2g} or more, for attackers of "
                f"these kinds, on the worlds that were judged ({best.runs} runs of each)"
            )
        return "; ".join(said) or "none: no two worlds shared a first output, and no bound could be had"

    def _rounding(self) -> str | None:
        if self.search.rounding is None:
            return None
        return (
            "worlds with the same first output differ later in the last digits: rounding itself tells of "
            f"those who stay (by less than {self.options.tolerance:g}; --tolerance 0 counts it as a break)"
        )

    def _collision(self, kind: str, pair: Pair, batches: Any, seed: int) -> dict[str, Any]:
        outputs = [self.lab.play(world, batches, seed) for world in (pair.one, pair.other)]
        return {
            "kind": kind,
            **_pair_json(pair, batches),
            "seed": seed,
            "tolerance": 0.0 if kind == "rounding" else self.options.tolerance,
            "outputs": {"one": list(outputs[0]), "other": list(outputs[1])},
        }


def _told(judgement: Judgement) -> str:
    by = f"by {judgement.teller}, {judgement.runs} runs of each world"
    if judgement.delta > 0:
        return f"δ ≥ {judgement.delta:.3g} ({by})"
    apart = f"first outputs up to {judgement.first_at_most:.2g} apart"
    return f"advantage {judgement.advantage:.2g}, {apart} ({by})"


def _deletions(batches: Sequence[Any]) -> str:
    return f"{len(batches)} deletion{'s' if len(batches) > 1 else ''}"


def _pair_json(pair: Pair, batches: Any) -> dict[str, Any]:
    return {
        "family": pair.family,
        "one": list(pair.one),
        "other": list(pair.other),
        "batches": [list(batch) for batch in batches],
    }
