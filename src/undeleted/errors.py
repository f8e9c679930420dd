"""Every exception of the package, and its wording.

    UndeletedError                what happened, with the numbers; then what to do
    ├── UnknownName               no mechanism, baseline, attack … of that name
    ├── SchemaError               an invalid column or schema
    │   ├── BadBounds             min ≥ max, not finite, a step that does not divide the range
    │   └── BadColumns            unknown, missing, duplicate or wrongly typed columns
    │       └── NotAColumn        a mechanism was given something other than a declared column
    ├── RejectedValue             a record's value breaks a rule whose action is error
    ├── NoRecords                 an empty table where records are needed
    ├── TooLarge                  a sum that could overflow, a problem that is too large
    │   └── WorldTooLarge         a finite world that cannot be enumerated in time
    ├── PrivacyError
    │   ├── BadBudget             ε ≤ 0, δ outside [0, 1), ρ ≤ 0, a weight ≤ 0
    │   ├── BudgetSpent           a publication that costs more than is left
    │   ├── WeakDelta             a δ so large that somebody's whole record may be published
    │   └── CoinsRefused          coins of a kind that this use does not allow
    ├── Misuse                    a request that cannot be met as it is; nothing was done
    │   ├── BadQuestion           a question that a publication cannot answer                  (ValueError)
    │   ├── BadSetting            an argument or option outside its range                      (ValueError)
    │   ├── BadUsage              options that exclude each other, or a missing one            (ValueError)
    │   ├── BadTarget             an audit target that cannot be loaded or observed            (ValueError)
    │   ├── NotGenuine            a key, receipt or certificate that does not belong           (ValueError)
    │   ├── WrongType             an argument of the wrong type                                 (TypeError)
    │   ├── NotFound              no column, file, folder, attribute … of that name              (KeyError)
    │   ├── KeepsNoRecords        a deletion by id where nothing is kept by which an id could be found
    │   └── MissingExtra          an optional dependency that is not installed                  (ImportError)
    ├── BadWorld                  an invalid finite world: n = 0, k > n, a domain that does not fit
    ├── NotEnumerable             an infinite or irrational law, which coins cannot enumerate
    ├── NotReproducible           an algorithm that is not a function of its coins
    ├── RecordNotFound            a record that is not (or no longer) in the data
    ├── AlreadyExists             a name or an id that is taken
    │   └── AlreadyJoined         people who shall join, and are in the store already
    ├── NotStarted                a deletion before the start, or before the publication
    ├── RuleBroken                a move against the rules of a game
    ├── BadFile                   a file that cannot be read, is of a newer format, or was altered
    │   └── BadSpec               an invalid line in a spec
    ├── BadConnection             a database that cannot be reached, or has no such table
    ├── StoreError                a store that is locked, lacks its key, or was changed unexpectedly
    │   ├── ReceiptsVoid          receipts for people who were not taken in
    │   ├── StoreGone             a store that was removed, or replaced by something else
    │   ├── TicksElsewhere        a copy of a table that grows: its ticks close in the original
    │   └── AlreadyPublished      a different spec from the published one
    ├── BadReceipt                a text that is not a receipt
    ├── FalseReceipt              a receipt that this data set did not sign
    ├── VoidReceipt               a receipt that it signed, and that names nobody any more
    ├── Busy                      too much is requested at once
    ├── MissingBounds             an estimator without public bounds, classes or categories
    ├── UndeclaredValue           a label or category that an estimator does not declare
    ├── FitFailed                 a model of synthetic rows that needed too much time or memory
    └── TargetFailed              an audited system crashed, hung, or gave an answer that cannot be evaluated

    PrivacyLeakWarning            something private is revealed without noise, because the user insisted
    ├── SeededNoiseWarning        noise that anybody who learns the seed can remove
    ├── TuningWarning             every fit of a search spends the budget once more
    ├── RefitWarning              a second fit draws new noise, and spends the budget once more
    └── WeakPrivacyWarning        an ε so large that it promises almost nothing
    ForgottenTooMany              more rows were forgotten than noise can explain

Internal signals, which no caller sees:

    AuditTimeUp                   the audit's time is up; the results so far remain valid
    OutOfTime                     the outcomes of a finite world cannot all be enumerated in time
    CallFailed                    which of several calls of a target failed
    BodyTooLarge                  the body of a request is larger than is allowed

Each carries its numbers as attributes.  No message contains a record's value, because messages reach logs.
"""

from collections.abc import Sequence
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

_SCALARS = (bool, int, float, str, Decimal, Fraction, type(None))


class UndeletedError(Exception):
    """What happened, with the numbers; `remedy` says what to do."""

    remedy: str = ""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n{remedy}")
        self.what, self.remedy = what, remedy

    def __str__(self) -> str:
        """The message itself, also for errors that are a KeyError."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle an error with all its attributes, whatever arguments its constructor takes."""
        return _rebuild, (type(self), self.args, self.__dict__)


class UnknownName(UndeletedError, KeyError):
    """No mechanism, baseline, attack … of that name."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        listed = f"The {kind}: {', '.join(known)}." if known else f"There are no {kind} yet."
        super().__init__(f"there is no {name!r} among the {kind}.", hint + listed)
        self.kind, self.name, self.known = kind, name, tuple(known)


class SchemaError(UndeletedError, ValueError):
    """An invalid column or schema."""


class BadBounds(SchemaError):
    """min ≥ max, not finite, or a step that does not divide the range."""

    def __init__(self, column: str, rule: str, remedy: str) -> None:
        super().__init__(f"column {column!r}: {rule}", remedy)
        self.column, self.rule = column, rule


class BadColumns(SchemaError):
    """Unknown, missing, duplicate or wrongly typed columns."""

    def __init__(self, columns: Sequence[str], problem: str, remedy: str) -> None:
        listed = ", ".join(repr(c) for c in columns)
        super().__init__(f"column{'s' if len(columns) > 1 else ''} {listed}: {problem}", remedy)
        self.columns, self.problem = tuple(columns), problem


class NotAColumn(BadColumns, TypeError):
    """A mechanism was given something other than a declared column of the right kind."""

    def __init__(self, mechanism: str, given: Any, kinds: Sequence[type]) -> None:
        takes = " or ".join(f"a {kind.__name__}" for kind in kinds if kind is not type(None))
        what = f"{mechanism} takes {takes}, got {_kind(given)}."
        UndeletedError.__init__(
            self, what, 'Declare the column first, such as Number("age", min=0, max=120).'
        )
        self.columns, self.problem = (type(given).__name__,), what


class RejectedValue(UndeletedError):
    """A record's value breaks a rule whose action is error.  The message does not contain the value."""

    def __init__(
        self, column: str, rule: str, row: int | None, count: int, remedy: str, line: int | None = None
    ) -> None:
        place = "" if row is None else f"row {row}" if line is None else f"line {line}"
        first = f", the first is {place}" if place else ""  # a database has no first row
        where = f"{count} rows{first}" if count > 1 else place or "1 row"
        super().__init__(f"column {column!r}: {rule} ({where}).", remedy)
        self.column, self.rule, self.row, self.count, self.line = column, rule, row, count, line


class NoRecords(UndeletedError):
    """An empty table where records are needed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs at least one record, and the table has none.", "Check the source of the table."
        )


class TooLarge(UndeletedError):
    """A sum that could overflow, or a world that is too large; a size that counts people is not reported."""

    def __init__(self, what: str, size: int | None, limit: int, remedy: str) -> None:
        exceeds = f"{size:,} exceeds" if size is not None else "it may exceed"
        super().__init__(f"{what}: {exceeds} the limit of {limit:,}.", remedy)
        self.size, self.limit = size, limit


class WorldTooLarge(TooLarge):
    """A finite world that cannot be enumerated in time; its size is reported."""

    def __init__(self, outcomes: int, data_sets: int, grown: int, seconds: float, limit: float) -> None:
        covered = "one" if grown else "less than one"
        progress = f"{outcomes:,} outcomes took {seconds:.2g} s and covered {covered} of"
        UndeletedError.__init__(
            self,
            f"this world is too large for a time limit of {limit:g} s: {progress} {data_sets:,} data sets.",
            "Choose a smaller domain, n or k, noise with fewer outcomes, or a longer time limit.",
        )
        self.size, self.limit = outcomes * data_sets, int(limit)


class PrivacyError(UndeletedError):
    """An error about a budget, or about the coins that noise is drawn from."""


class BadBudget(PrivacyError, ValueError):
    """ε ≤ 0, δ outside [0, 1), ρ ≤ 0, a weight ≤ 0, or an invalid noise setting."""

    def __init__(self, name: str, value: object, rule: str) -> None:
        chosen = name in ("epsilon", "delta", "rho", "weight")
        remedy = "Choose it before you look at the data." if chosen else f"Give `{name}` such a value."
        shown = _short(value) if isinstance(value, _SCALARS) else _kind(value)
        super().__init__(f"{name} must be {rule}, got {name} = {shown}.", remedy)
        self.name, self.value, self.rule = name, value, rule


class BudgetSpent(PrivacyError):
    """A publication that costs more than is left."""

    def __init__(self, name: str, cost: float, left: float, total: float) -> None:
        if cost == 0.0:
            what = f"cannot publish {name!r}: the budget of ε = {total:.4g} is spent."
            remedy = "Keep a share for later publications: `reserve` in a spec's [budget]."
        elif cost == float("inf"):
            what = f"publishing {name!r} with Gaussian noise needs a budget with δ > 0."
            remedy = "Give the total budget a δ, such as 1e-6, or this publication an ε of its own."
        else:
            what = f"publishing {name!r} costs ε = {cost:.4g}, but {left:.4g} of {total:.4g} is left."
            remedy = "Deletions cost the others no ε: `delete` updates the releases you have."
        super().__init__(what, remedy)
        self.name, self.cost, self.left, self.total = name, cost, left, total


class WeakDelta(PrivacyError):
    """A δ so large that somebody's whole record may be published."""

    def __init__(self, delta: float) -> None:
        super().__init__(
            f"δ = {delta:g} does not protect: with that probability somebody's whole record may be revealed.",
            "Choose a δ far below 1/n, such as 1e-6 (at 1/n or above, somebody's record may be revealed); "
            "or insist with --i-know (i_know=True).",
        )
        self.delta = delta


class CoinsRefused(PrivacyError):
    """Coins of a kind that this use does not allow."""

    def __init__(self, kind: str, use: str) -> None:
        super().__init__(
            f"{use} needs secure coins, got {kind} coins.",
            "Anybody who learns the seed can recompute seeded noise; "
            "pass `undeleted.foundations.coins.secure()`.",
        )
        self.kind, self.use = kind, use


class Misuse(UndeletedError):
    """A request that cannot be met as it is; nothing was done."""


class BadQuestion(Misuse, ValueError):
    """A question that a publication cannot answer: a confidence, a rank or a range that makes no sense."""


class BadSetting(Misuse, ValueError):
    """An argument or option outside its range."""


class BadUsage(Misuse, ValueError):
    """Options or requests that exclude each other, or a required one that is missing."""


class BadTarget(Misuse, ValueError):
    """An audit target that cannot be loaded, set up or observed."""


class NotGenuine(Misuse, ValueError):
    """A key, receipt or certificate that does not belong to this data set or receipt."""


class WrongType(Misuse, TypeError):
    """An argument of the wrong type."""


class NotFound(Misuse, KeyError):
    """No column, file, folder, attribute … of that name."""


class KeepsNoRecords(Misuse):
    """A deletion by something else than what people leave with in a store that keeps no records."""

    def __init__(self, retains: str = "receipts") -> None:
        problem = f'nobody can be deleted by id: this store keeps no records (retain = "{retains}").'
        remedy = "People leave with their receipts: `undeleted delete --receipts FILE`."
        if retains == "tags":
            problem = 'this store keeps no records (retain = "tags"): people leave with their rows and salts.'
            remedy = "Present them: `undeleted delete --rows FILE --salts FILE`, or delete_rows in Python."
        super().__init__(problem, remedy)


class MissingExtra(Misuse, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, what: str, library: str, extra: str) -> None:
        remedy = f"Install it with: pip install 'undeleted[{extra}]'."
        super().__init__(f"{what} needs {library}, which is not installed.", remedy)
        self.library, self.extra = library, extra


class FitFailed(UndeletedError):
    """A model of synthetic rows that needed more time or memory than there is."""

    def __init__(self, seconds: float | None, last: str) -> None:
        why = "ended" if seconds is None else f"was not ready after {seconds:g} s, and was ended"
        said = f" Its last words: {last[:200]}" if last and seconds is None else ""
        remedy = "Allow more time, publish fewer or smaller marginals, or choose the other model."
        super().__init__(f"the process that fits the model {why}.{said}", remedy)
        self.seconds, self.last = seconds, last


class BadWorld(UndeletedError, ValueError):
    """An invalid finite world: n = 0, k > n, a domain that does not fit."""

    def __init__(self, name: str, value: object, rule: str, remedy: str = "") -> None:
        fallback = "A small world is a domain of a few points, n ≥ 1 and k ≤ n."
        super().__init__(f"{name} must be {rule}, got {_short(value)}.", remedy or fallback)
        self.name, self.value, self.rule = name, value, rule


class NotEnumerable(UndeletedError):
    """An infinite or irrational law, which coins cannot enumerate."""

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
            "the algorithm behaved differently when it was run again with the same coins.",
            "It must take all its randomness from the given coins, and start from scratch on every run.",
        )


class RecordNotFound(UndeletedError):
    """A record that is not, or no longer, in the data."""

    def __init__(self, count: int = 1) -> None:
        noun = "record is" if count == 1 else "records are"
        super().__init__(
            f"{count} {noun} not in the data, or no longer in it; nothing was deleted.",
            "A record can be deleted only once; name only records that are still in the data.",
        )
        self.count = count


class AlreadyExists(UndeletedError):
    """A name that is taken."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} already exists.", remedy)


class AlreadyJoined(AlreadyExists):
    """People who shall join, and are in the store already."""

    def __init__(self, people: int) -> None:
        self.people = people
        are = "1 person is" if people == 1 else f"{people:,} people are"
        remedy = "Leave them out (--skip-existing), or give their new records to `undeleted correct`."
        UndeletedError.__init__(self, f"{are} in the store already; nobody was added.", remedy)


class NotStarted(UndeletedError):
    """A deletion before the algorithm was started, or before the curator published."""

    def __init__(
        self,
        what: str,
        remedy: str = "Call start(data, coins) first.",
        problem: str = "received a deletion before it was started",
    ) -> None:
        super().__init__(f"{what} {problem}.", remedy)


class RuleBroken(UndeletedError):
    """A move against the rules of a game; `rule` names it."""

    def __init__(self, rule: str, move: str) -> None:
        super().__init__(
            f"{move}, against the rule: {rule}.", "The move was refused; the game has not changed."
        )
        self.rule, self.move = rule, move


class BadFile(UndeletedError):
    """A file that cannot be read, is of a newer format, or was altered."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}", remedy)
        self.path, self.problem = path, problem


class BadSpec(BadFile):
    """An invalid line in a spec."""

    def __init__(self, path: str, line: int, problem: str, remedy: str) -> None:
        UndeletedError.__init__(self, f"{path}, line {line}: {problem}", remedy)
        self.path, self.line, self.problem = path, line, problem


class BadConnection(UndeletedError):
    """A database that cannot be reached, refuses, or has no such table.  Passwords are never shown."""

    def __init__(self, where: str, problem: str, remedy: str) -> None:
        super().__init__(f"{where} {problem}", remedy)
        self.where, self.problem = where, problem


class StoreError(UndeletedError):
    """A store that is locked, lacks its key, or was changed unexpectedly."""


class ReceiptsVoid(StoreError):
    """Receipts that were written for people who were not taken in."""

    def __init__(self, why: str) -> None:
        problem = f"{why}; nobody was added, and the receipts are void."
        super().__init__(problem, "Add them again: they get new receipts, and join at the next tick.")


class StoreGone(StoreError):
    """A store that was removed, or replaced by something else: nobody would find what is written to it."""


class TicksElsewhere(StoreError):
    """A copy or a backup of a table that grows: a tick closed in both would be drawn twice."""

    def __init__(self, path: str) -> None:
        problem = f"{path} is a copy or a backup: its ticks would be drawn again, at the cost of another ε."
        super().__init__(problem, "Go on in the original; or move it, with `store copy --move-budget`.")


class AlreadyPublished(StoreError):
    """A different spec from the published one."""

    def __init__(self) -> None:
        super().__init__(
            "another publication already exists here (the spec has changed since).",
            "Send the spec that was published, or run a separate service for this one.",
        )


class BadReceipt(UndeletedError):
    """A text that is not a receipt.  Whether it is genuine is checked separately."""

    position: int = 0  # of several receipts, which

    def __init__(self) -> None:
        super().__init__(
            "this is not a receipt; nothing was deleted.",
            "Give the complete receipt, as it was handed out: three parts separated by dots.",
        )


class FalseReceipt(UndeletedError):
    """A receipt that this data set did not sign; anybody who has its public key can check that."""

    position: int = 0  # of several receipts, which

    def __init__(self) -> None:
        super().__init__(
            "this receipt does not belong to this data set, or was altered; nothing was deleted.",
            "Give the complete receipt, as you received it; or go to the service that issued it.",
        )


class VoidReceipt(UndeletedError):
    """A receipt that this data set signed, and that names nobody any more."""

    position: int = 0  # of several receipts, which

    def __init__(self) -> None:
        problem = "this receipt is void: the data set has written new ones since; nothing was deleted."
        super().__init__(problem, "Leave with the receipt that replaced it.")


class Busy(UndeletedError):
    """Too much is requested at once; nothing was done."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; nothing was done.", "Try again in a second: asking twice is safe.")


class TargetFailed(UndeletedError):
    """An audited system crashed, hung, or gave an answer that cannot be evaluated: no verdict."""

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
    """A label or category that an estimator does not declare.  The message does not contain the value."""

    def __init__(self, what: str, count: int, remedy: str) -> None:
        rows = "1 row has" if count == 1 else f"{count} rows have"
        article = "an" if what[0] in "aeiou" else "a"
        super().__init__(f"{rows} {article} {what} that was not declared; nothing was changed.", remedy)
        self.count = count


class PrivacyLeakWarning(UserWarning):
    """Something private is revealed without noise, because the user insisted."""


class SeededNoiseWarning(PrivacyLeakWarning):
    """Noise that anybody who learns the seed can remove."""


class TuningWarning(PrivacyLeakWarning):
    """Every fit of a search spends the budget once more."""


class RefitWarning(PrivacyLeakWarning):
    """A second fit of the same instance draws new noise, and spends the budget once more."""


class WeakPrivacyWarning(PrivacyLeakWarning):
    """An ε so large that it promises almost nothing."""


class ForgottenTooMany(UserWarning):
    """More rows were forgotten than noise can explain."""


class AuditTimeUp(Exception):
    """The audit's time is up; the results so far remain valid."""


class OutOfTime(Exception):
    """The outcomes cannot all be enumerated in time."""


class CallFailed(Exception):
    """Which of several calls failed."""


class BodyTooLarge(Exception):
    """The body is larger than is allowed."""


def _rebuild(
    kind: type[UndeletedError], arguments: tuple[object, ...], facts: dict[str, object]
) -> UndeletedError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(facts)
    return error


def _kind(value: Any) -> str:
    """What a value is, without the value: it may be somebody's data.  Declared columns are public."""
    name, kind = getattr(value, "name", None), type(value).__name__
    public = isinstance(name, str) and type(value).__module__.startswith("undeleted.")
    return f"the {kind} {name!r}" if public else f"a {kind}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
