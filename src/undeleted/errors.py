"""Every exception of the package, and its wording.

    UndeletedError                what happened, with the numbers; then what to do
    ├── UnknownName               no mechanism, baseline, attack … of that name
    ├── SchemaError               a column or schema that cannot be
    │   ├── BadBounds             min ≥ max, not finite, a step that does not divide
    │   └── BadColumns            unknown, missing, doubled or wrongly typed columns
    ├── RejectedValue             a record's value met a rule that says error
    ├── NoRecords                 an empty table where records are needed
    ├── TooLarge                  a sum that could overflow, a program that cannot fit
    │   └── WorldTooLarge         a finite world that cannot be walked in time
    ├── PrivacyError
    │   ├── BadBudget             ε ≤ 0, δ outside [0, 1), ρ ≤ 0, a weight ≤ 0
    │   ├── BudgetSpent           asked for more than is left
    │   ├── WeakDelta             a δ that lets people's records be published whole
    │   └── CoinsRefused          coins of a kind that this use does not allow
    ├── BadQuestion               a confidence, a rank or a range that makes no sense
    ├── BadWorld                  a finite world that cannot be: n = 0, k > n, a domain that does not fit
    ├── NotEnumerable             enumerated coins were asked for an infinite or irrational law
    ├── NotReproducible           an algorithm that is not a function of its coins
    ├── NotThere                  a record that is not (or no longer) in the data
    ├── AlreadyThere              a name or an id that is taken
    ├── NotStarted                asked to delete before it started, or before it published
    ├── RuleBroken                a move against the rules of a game
    ├── BadFile                   a file that cannot be read, is of a newer format, or was altered
    │   └── BadSpec               a line of a spec that cannot be
    ├── BadConnection             a database that cannot be reached, or has no such table
    ├── StoreError                a store that is held, missing its key, or not as it was left
    │   ├── StoreGone             a store whose place holds something else by now, or nothing
    │   └── AlreadyPublished      another spec than the one that is published
    ├── BadReceipt                a text that has not the form of a receipt
    ├── FalseReceipt              a receipt that this data set did not sign
    ├── Busy                      too much is asked for at once
    ├── MissingBounds             an estimator without public bounds, classes or categories
    ├── UndeclaredValue           a label or category that an estimator's declaration does not have
    └── TargetFailed              an audited system crashed, hung, or answered what cannot be judged

    PrivacyLeakWarning            something private is told without noise, because somebody insisted
    ├── SeededNoiseWarning        noise that whoever learns the seed can take off again
    ├── TuningWarning             every fit of a search spends the budget once more
    ├── RefitWarning              a second fit draws new noise, and spends the budget once more
    └── WeakPrivacyWarning        an ε that promises next to nothing
    ForgottenTooMany              more rows were forgotten than noise can explain

Signals between parts of ours, which no caller sees:

    BudgetOver                    the audit's time is up; what was found until now stands
    OutOfTime                     the outcomes of a finite world cannot all be walked in time
    CallFailed                    which of several calls of a target failed
    BodyTooLarge                  the body of a request is larger than is allowed

Each carries its numbers as attributes.  A message never holds a record's value: messages reach logs.
"""

from collections.abc import Sequence
from difflib import get_close_matches


class UndeletedError(Exception):
    """What happened, with the numbers; `remedy` says what to do."""

    remedy: str = ""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n{remedy}")
        self.what, self.remedy = what, remedy

    def __reduce__(self) -> tuple[object, ...]:
        """Errors reach other processes whole, whatever their constructors take."""
        return _again, (type(self), self.args, self.__dict__)


class UnknownName(UndeletedError):
    """No mechanism, baseline, attack … of that name."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        listed = f"The {kind}: {', '.join(known)}." if known else f"There are no {kind} yet."
        super().__init__(f"there is no {name!r} among the {kind}.", hint + listed)
        self.kind, self.name, self.known = kind, name, tuple(known)


class SchemaError(UndeletedError):
    """A column or schema that cannot be."""


class BadBounds(SchemaError):
    """min ≥ max, not finite, or a step that does not divide."""

    def __init__(self, column: str, rule: str, remedy: str) -> None:
        super().__init__(f"column {column!r}: {rule}", remedy)
        self.column, self.rule = column, rule


class BadColumns(SchemaError):
    """Unknown, missing, doubled or wrongly typed columns."""

    def __init__(self, columns: Sequence[str], problem: str, remedy: str) -> None:
        listed = ", ".join(repr(c) for c in columns)
        super().__init__(f"column{'s' if len(columns) > 1 else ''} {listed}: {problem}", remedy)
        self.columns, self.problem = tuple(columns), problem


class RejectedValue(UndeletedError):
    """A record's value met a rule that says error.  The value itself is not told."""

    def __init__(self, column: str, rule: str, row: int | None, count: int, remedy: str) -> None:
        first = "" if row is None else f", the first of them row {row}"  # a database has no first row
        where = f"{count} rows{first}" if count > 1 else "1 row" if row is None else f"row {row}"
        super().__init__(f"column {column!r}: {rule} ({where}).", remedy)
        self.column, self.rule, self.row, self.count = column, rule, row, count


class NoRecords(UndeletedError):
    """An empty table where records are needed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs at least one record, and the table has none.", "Check the source of the table."
        )


class TooLarge(UndeletedError):
    """A sum that could overflow, or a world that cannot fit; a size that counts people is not told."""

    def __init__(self, what: str, size: int | None, limit: int, remedy: str) -> None:
        told = f"{size:,} exceeds" if size is not None else "it may exceed"
        super().__init__(f"{what}: {told} the limit of {limit:,}.", remedy)
        self.size, self.limit = size, limit


class WorldTooLarge(TooLarge):
    """A finite world that cannot be walked in time; its size is told."""

    def __init__(self, outcomes: int, data_sets: int, grown: int, seconds: float, limit: float) -> None:
        told = f"{outcomes:,} outcomes took {seconds:.2g} s and were {'one' if grown else 'not yet one'} of"
        UndeletedError.__init__(
            self,
            f"this world is too large for a time limit of {limit:g} s: {told} {data_sets:,} data sets.",
            "Take a smaller domain, n or k, noise with fewer outcomes, or more time.",
        )
        self.size, self.limit = outcomes * data_sets, int(limit)


class PrivacyError(UndeletedError):
    """Budgets and the coins that noise is made of."""


class BadBudget(PrivacyError):
    """ε ≤ 0, δ outside [0, 1), ρ ≤ 0, a weight ≤ 0, or a setting of the noise that cannot be."""

    def __init__(self, name: str, value: object, rule: str) -> None:
        chosen = name in ("epsilon", "delta", "rho", "weight")
        remedy = "Choose it before you look at the data." if chosen else f"Give `{name}` such a value."
        super().__init__(f"{name} must be {rule}, got {name} = {_short(value)}.", remedy)
        self.name, self.value, self.rule = name, value, rule


class BudgetSpent(PrivacyError):
    """A publication that costs more than is left."""

    def __init__(self, name: str, cost: float, left: float, total: float) -> None:
        if cost == float("inf"):
            what = f"publishing {name!r} with Gaussian noise needs a budget with δ > 0."
            remedy = "Give the total budget a δ, such as 1e-6, or this publication an ε of its own."
        else:
            what = f"publishing {name!r} costs ε = {cost:.4g}, but {left:.4g} of {total:.4g} is left."
            remedy = "Deletions cost the others no ε: `delete` updates the releases you have."
        super().__init__(what, remedy)
        self.name, self.cost, self.left, self.total = name, cost, left, total


class WeakDelta(PrivacyError):
    """A δ that lets people's records be published whole."""

    def __init__(self, delta: float) -> None:
        super().__init__(
            f"δ = {delta:g} is no protection: with that probability somebody's whole record may be told.",
            "Choose a δ far below 1/n, such as 1e-6 (from 1/n on, somebody's record may be told); or insist "
            "with --i-know (i_know=True).",
        )
        self.delta = delta


class CoinsRefused(PrivacyError):
    """Coins of a kind that this use does not allow."""

    def __init__(self, kind: str, use: str) -> None:
        super().__init__(
            f"{use} takes secure coins, got {kind} ones.",
            "Seeded noise can be recomputed by whoever learns the seed; "
            "pass `undeleted.foundations.coins.secure()`.",
        )
        self.kind, self.use = kind, use


class BadQuestion(UndeletedError):
    """A confidence, a rank or a range that makes no sense."""


class BadWorld(UndeletedError):
    """A finite world that cannot be: n = 0, k > n, a domain that does not fit."""

    def __init__(self, name: str, value: object, rule: str, remedy: str = "") -> None:
        fallback = "A small world is a domain of a few points, n ≥ 1 and k ≤ n."
        super().__init__(f"{name} must be {rule}, got {_short(value)}.", remedy or fallback)
        self.name, self.value, self.rule = name, value, rule


class NotEnumerable(UndeletedError):
    """Enumerated coins were asked for an infinite or irrational law."""

    def __init__(self, law: str) -> None:
        super().__init__(
            f"{law} has infinitely many outcomes or irrational probabilities: it cannot be enumerated.",
            "Give the mechanism a finite law, such as ClampedGeometric(ratio=Fraction(1, 2), low=0, high=3).",
        )
        self.law = law


class NotReproducible(UndeletedError):
    """An algorithm that is not a function of its coins."""

    def __init__(self) -> None:
        super().__init__(
            "the algorithm did not do the same when it was run again with the same coins.",
            "It must take all of its randomness from the coins it is given, and start afresh on every run.",
        )


class NotThere(UndeletedError):
    """A record that is not, or no longer, in the data."""

    def __init__(self, count: int = 1) -> None:
        noun = "record is" if count == 1 else "records are"
        super().__init__(
            f"{count} {noun} not in the data, or not any more; nothing was deleted.",
            "A record is deleted once; name only records that are still there.",
        )
        self.count = count


class AlreadyThere(UndeletedError):
    """A name that is taken."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} is there already.", remedy)


class NotStarted(UndeletedError):
    """An algorithm asked to delete before it started, or a curator before it published."""

    def __init__(
        self,
        what: str,
        remedy: str = "Call start(data, coins) first.",
        problem: str = "was asked to delete before it was started",
    ) -> None:
        super().__init__(f"{what} {problem}.", remedy)


class RuleBroken(UndeletedError):
    """A move against the rules of a game; `rule` names it."""

    def __init__(self, rule: str, move: str) -> None:
        super().__init__(
            f"{move}, against the rule: {rule}.", "The move was refused and the game stands as it was."
        )
        self.rule, self.move = rule, move


class BadFile(UndeletedError):
    """A file that cannot be read, is of a newer format, or was altered."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}", remedy)
        self.path, self.problem = path, problem


class BadSpec(BadFile):
    """A line of a spec that cannot be."""

    def __init__(self, path: str, line: int, problem: str, remedy: str) -> None:
        UndeletedError.__init__(self, f"{path}, line {line}: {problem}", remedy)
        self.path, self.line, self.problem = path, line, problem


class BadConnection(UndeletedError):
    """A database that cannot be reached, refuses, or has no such table.  Passwords are never told."""

    def __init__(self, where: str, problem: str, remedy: str) -> None:
        super().__init__(f"{where} {problem}", remedy)
        self.where, self.problem = where, problem


class StoreError(UndeletedError):
    """A store that is held, missing its key, or not as it was left."""


class StoreGone(StoreError):
    """A store whose place holds something else by now, or nothing: what is written would not be found."""


class AlreadyPublished(StoreError):
    """Another spec than the one that is published."""

    def __init__(self) -> None:
        super().__init__(
            "another publication is here already (the spec has changed since).",
            "Send the spec that was published, or run a service of its own for this one.",
        )


class BadReceipt(UndeletedError):
    """A text that has not the form of a receipt.  Whether a receipt is genuine is another question."""

    def __init__(self) -> None:
        super().__init__(
            "this has not the form of a receipt; nothing was deleted.",
            "Give the whole receipt, as it was handed out: three parts with a dot between.",
        )


class FalseReceipt(UndeletedError):
    """A receipt that this data set did not sign, which anybody can tell who has its public key."""

    def __init__(self) -> None:
        super().__init__(
            "this receipt is not of this data set, or was altered; nothing was deleted.",
            "Give it whole, as you were given it; or go to the service that gave it to you.",
        )


class Busy(UndeletedError):
    """Too much is asked for at once; nothing was done."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; nothing was done.", "Try again in a second: asking twice is safe.")


class TargetFailed(UndeletedError):
    """An audited system crashed, hung, or answered what cannot be judged: no verdict."""

    def __init__(self, call: str, reason: str, remedy: str = "", *, reported: bool = False) -> None:
        usual = "There is no verdict: run the target by hand on that call first."
        super().__init__(f"the target failed at: {call}; {reason}.", remedy or usual)
        self.call, self.reason, self.reported = call, reason, reported


class MissingBounds(UndeletedError, ValueError):
    """An estimator without public bounds, classes or categories."""

    def __init__(self, estimator: str, parameter: str, example: str) -> None:
        super().__init__(
            f"{estimator} needs `{parameter}`: public, and known before you look at the data.",
            f'Give them, such as {example}; or insist with {parameter}="data", which leaks them.',
        )
        self.parameter = parameter


class UndeclaredValue(UndeletedError, ValueError):
    """A label or category that an estimator's declaration does not have.  The value itself is not told."""

    def __init__(self, what: str, count: int, remedy: str) -> None:
        rows = "1 row has" if count == 1 else f"{count} rows have"
        article = "an" if what[0] in "aeiou" else "a"
        super().__init__(f"{rows} {article} {what} that was not declared; nothing was changed.", remedy)
        self.count = count


class PrivacyLeakWarning(UserWarning):
    """Something private is told without noise, because somebody insisted."""


class SeededNoiseWarning(PrivacyLeakWarning):
    """Noise that whoever learns the seed can take off again."""


class TuningWarning(PrivacyLeakWarning):
    """Every fit of a search spends the budget once more."""


class RefitWarning(PrivacyLeakWarning):
    """A second fit of the same instance draws new noise, and spends the budget once more."""


class WeakPrivacyWarning(PrivacyLeakWarning):
    """An ε that promises next to nothing."""


class ForgottenTooMany(UserWarning):
    """More rows were forgotten than noise can explain."""


class BudgetOver(Exception):
    """The audit's time is up; what was found until now stands."""


class OutOfTime(Exception):
    """The outcomes cannot all be walked in time."""


class CallFailed(Exception):
    """Which of several calls failed."""


class BodyTooLarge(Exception):
    """The body is larger than is allowed."""


def _again(
    kind: type[UndeletedError], arguments: tuple[object, ...], facts: dict[str, object]
) -> UndeletedError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(facts)
    return error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
