"""`undeleted audit TARGET` and `undeleted replay WITNESS --target TARGET`."""

import re
import secrets
import signal
import threading
from json import dumps
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from undeleted.errors import BadColumns, BadFile, BadSetting, BadUsage
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.durations import seconds_of
from undeleted.interfaces.cli.output import bar, renders, require_page
from undeleted.interfaces.report.result import Result, table

MOST_ROWS = 20_000
EPILOG = """
[bold]Examples[/bold]

undeleted audit retrain:median

undeleted audit sklearn.cluster:KMeans --set n_clusters=2 --html report.html

undeleted audit sklearn.naive_bayes:GaussianNB --see fitted --budget 30s --json

undeleted audit river.stats:Mean

undeleted audit adapter.py:Curator --column age=0..120 --column sex=f,m

undeleted audit exec:./my_curator --data people.csv --redact

[bold]Targets[/bold]

mechanism:NAME, baseline:NAME, leaky:NAME, retrain:median, recompute:sum: built in; see `undeleted list`

package.module:name or file.py:name: an estimator (retrained), or an object with its own delete method

exec:COMMAND: any program that answers {"op":"start",…} and {"op":"delete",…}, one JSON object per line
"""
REPLAY_EPILOG = """
[bold]Example[/bold]

undeleted replay audit/retrain-median.json --target retrain:median
"""

SettingsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the target, as JSON or text."),
]
See: TypeAlias = Annotated[
    str,
    typer.Option(help="What the observer sees: attributes, fitted, predictions, labels, or output keys."),
]
At: TypeAlias = Annotated[Path | None, typer.Option(help="A file of points at which to predict.")]
Digits: TypeAlias = Annotated[
    int | None, typer.Option(help="The observer sees numbers rounded to this many decimals.")
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=RANGE", help="A column of the records: age=0..120, or sex=f,m."),
]
Label: TypeAlias = Annotated[str | None, typer.Option(help="The column that a model learns to predict.")]
Features: TypeAlias = Annotated[int, typer.Option(help="How many columns a model gets, if none are named.")]
FirstEpsilon: TypeAlias = Annotated[
    float | None, typer.Option(help="Assume that the first output is ε-DP when one person is replaced.")
]
FirstDelta: TypeAlias = Annotated[float, typer.Option(help="The δ of that assumption.")]
Tolerance: TypeAlias = Annotated[
    float, typer.Option(help="Relative differences below this count as rounding.")
]
Confidence: TypeAlias = Annotated[float, typer.Option(help="1 − the rate of false alarms.")]
BudgetOption: TypeAlias = Annotated[
    str,
    typer.Option(
        help="For the whole audit: a time such as 60s or 2m, or a number of calls such as 20000calls."
    ),
]


Data: TypeAlias = Annotated[
    Path | None, typer.Option(help="Draw worlds from these real rows; the report then holds real values.")
]
IdColumn: TypeAlias = Annotated[
    str, typer.Option(help="The column of the data that identifies people; records do not include it.")
]
PeopleOption: TypeAlias = Annotated[int, typer.Option(help="The most people in a world.")]
Timeout: TypeAlias = Annotated[
    str, typer.Option(help="The timeout of one call; by default half the budget, at most 30 s.")
]
Unseeded: TypeAlias = Annotated[
    bool, typer.Option("--unseeded", help="The target uses its own randomness, which seeds do not fix.")
]
Seed: TypeAlias = Annotated[int, typer.Option(help="The same seed gives the same worlds.")]
Out: TypeAlias = Annotated[Path, typer.Option(help="The folder for the verdict and its witness.")]
Html: TypeAlias = Annotated[Path | None, typer.Option(help="Write a report that opens offline.")]
Redact: TypeAlias = Annotated[
    bool, typer.Option("--redact", help="Leave real values out of witness and report.")
]


@renders
def audit(
    target: Annotated[str, typer.Argument(help="What to audit; see below.")],
    settings: SettingsOption = None,
    data: Data = None,
    id: IdColumn = "id",
    see: See = "",
    at: At = None,
    digits: Digits = None,
    column: Columns = None,
    label: Label = None,
    features: Features = 1,
    people: PeopleOption = 32,
    budget: BudgetOption = "60s",
    timeout: Timeout = "",
    first_epsilon: FirstEpsilon = None,
    first_delta: FirstDelta = 0.0,
    unseeded: Unseeded = False,
    tolerance: Tolerance = 1e-9,
    confidence: Confidence = 0.95,
    seed: Seed = 7,
    out: Out = Path("audit"),
    html: Html = None,
    redact: Redact = False,
) -> Result:
    """Audit a target: do its deletions expose the people who stay, and does it forget those who leave?

    Exit code 0: no attack broke it, and no test showed that it remembers.  1: a finding; `replay`
    runs its witness again.  3: no verdict, because the target failed or the budget ended too early.
    """
    from undeleted.auditing.auditor import Options
    from undeleted.auditing.auditor import audit as audit_target
    from undeleted.auditing.sequential_tests import FirstOutput

    _end_gently()
    _writable(html, out)
    rows = _rows(data, id)
    named = _named(target, settings, see, at, column, label, features, rows)
    options = Options(
        **_budget(budget),
        timeout=seconds_of(timeout) if timeout else None,
        seed=seed,
        digits=digits,
        people=people,
        confidence=confidence,
        tolerance=tolerance,
        first=FirstOutput(first_epsilon, first_delta),
        unseeded=unseeded,
        rows=tuple(rows),
    )
    with bar("starting", 1.0) as progress:
        verdict = audit_target(named, options, lambda share, text: progress.set(min(1.0, share), text))
    result = _saved(verdict, named, options, out, html, redact)
    below = f"to run the witness again:  {result['replay']}" if result["replay"] else ""
    return Result(result, _facts(result), below, code=verdict.exit_code)


def _saved(verdict: Given, named: Given, options: Given, out: Path, html: Path | None, redact: bool) -> Json:
    """Write the verdict, its witness and the report; return the facts, with where they are."""
    from undeleted.auditing.witness import VERDICT, save, write

    result: Json = verdict.as_json() | {"witness": None, "replay": None, "report": None}
    result["holds_real_values"] = verdict.real_values and not redact
    if verdict.findings:
        path = out / f"{_slug(named.name)}.json"
        save(verdict, path, redact=redact)
        result["witness"] = str(path)
        result["replay"] = None if redact else _replay_command(path, named, options)
    if html is not None:
        from undeleted.interfaces.report.audit import write_page

        write_page(verdict, html, replay=result["replay"], redact=redact)
        result["report"] = str(html)
    kept = {name: value for name, value in result.items() if name not in ("report", "witness")}
    write(out / f"{_slug(named.name)}{VERDICT}", dumps(kept, indent=1) + "\n", private=verdict.real_values)
    return result


@renders
def replay(
    witness: Annotated[Path, typer.Argument(help="A witness that `undeleted audit` wrote.")],
    target: Annotated[str, typer.Option(help="What to run; nothing else is run.")],
    settings: SettingsOption = None,
    see: See = "",
    digits: Digits = None,
    first_epsilon: FirstEpsilon = None,
    first_delta: FirstDelta = 0.0,
    tolerance: Tolerance = 1e-9,
    confidence: Confidence = 0.95,
    budget: BudgetOption = "60s",
    seed: Annotated[int | None, typer.Option(help="The seed of the fresh runs; random by default.")] = None,
) -> Result:
    """Run a witness again, from scratch, on a target that the command line names.

    The witness supplies worlds and deletions.  Assumptions, confidence and tolerance come from the command
    line, not from the witness.  Exit code 1: the finding still holds.  0: it no longer holds.
    """
    from undeleted.auditing.replaying import ReplayTerms
    from undeleted.auditing.replaying import replay as run_again
    from undeleted.auditing.sequential_tests import FirstOutput

    _end_gently()
    named = _named(target, settings, see, None, None, None, 1, [])
    terms = ReplayTerms(digits, FirstOutput(first_epsilon, first_delta), confidence, tolerance)
    seed = secrets.randbelow(2**31) if seed is None else seed
    replayed = run_again(witness, named, terms, **_budget(budget), seed=seed)
    still = any(r.counts for r in replayed)
    result = {
        "witness": str(witness),
        "target": target,
        "holds": still,
        "seed": seed,
        "findings": [r.as_json() for r in replayed],
    }
    lines = []
    for r in replayed:
        holds = "HOLDS" if r.counts else "holds" if r.holds else "does not hold"
        lines.append([r.kind, holds, r.says])
        lines += [["", "depends on", reason] for reason in r.rests_on]
    return Result(result, table([*lines, ["seed", "", str(seed)]]), code=int(still))


def _replay_command(path: Path, named: Given, options: Given) -> str:
    """Return the command that runs the witness again with the same options."""
    import json
    from shlex import join

    flags = [part for k, v in named.settings.items() for part in ("--set", f"{k}={json.dumps(v)}")]
    flags += ["--see", ",".join(named.see)] if named.see else []
    said = {
        "--digits": (options.digits, None),
        "--first-epsilon": (options.first.epsilon, None),
        "--first-delta": (options.first.delta, 0.0),
        "--tolerance": (options.tolerance, 1e-9),
        "--confidence": (options.confidence, 0.95),
    }
    flags += [part for flag, (v, usual) in said.items() if v != usual for part in (flag, f"{v:g}")]
    return join(["undeleted", "replay", str(path), "--target", named.name, *flags])


def _named(
    target: str,
    settings: list[str] | None,
    see: str,
    at: Path | None,
    column: list[str] | None,
    label: str | None,
    features: int,
    rows: list[Json],
) -> Given:
    from undeleted.auditing.columns import columns_of, parse_column
    from undeleted.auditing.targets import TargetSpec

    columns = tuple(map(parse_column, column or ()))
    if rows and columns:
        raise BadUsage("--column and --data cannot be combined.", "Drop --column: the data define it.")
    if rows:
        columns = columns_of(rows)
    if features < 1:
        raise BadSetting(f"a model cannot have {features} features.", "Give 1 or more.")
    if label is not None and columns and label not in [c.name for c in columns]:
        raise BadColumns(
            [label], "the label is not a column.", f"The columns: {', '.join(c.name for c in columns)}."
        )
    seen = tuple(s.strip() for s in see.split(",") if s.strip())
    return TargetSpec(
        target, dict(map(_setting, settings or ())), seen, _points(at), columns, label, features
    )


def _setting(text: str) -> tuple[str, Given]:
    import json

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise BadSetting(f"{text!r} is not KEY=VALUE.", "Write --set n_clusters=2.")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, {"True": True, "False": False, "None": None}.get(value, value)


def _points(at: Path | None) -> tuple[tuple[float, ...], ...]:
    if at is None:
        return ()
    from undeleted.curate.files import rows

    result = rows(str(at), MOST_ROWS)
    try:
        return tuple(tuple(float(v) for v in row.values()) for row in result)
    except ValueError:
        raise BadFile(str(at), "holds more than numbers.", "Give one number for every feature.") from None


def _rows(data: Path | None, id: str) -> list[Json]:
    if data is None:
        return []
    from undeleted.curate.files import rows

    result = rows(str(data), MOST_ROWS)
    if not result:
        raise BadFile(str(data), "has no complete row.", "Fill in missing values, or leave columns out.")
    if id not in result[0] and id != "id":
        raise BadColumns([id], f"not in {data}.", f"The columns: {', '.join(result[0])}.")
    return [{k: v for k, v in row.items() if k != id} for row in result]


def _budget(text: str) -> Json:
    """Parse a budget: seconds, or a number of calls of the target."""
    calls = re.fullmatch(r"\s*(\d+)\s*calls?\s*", text)
    return {"calls": int(calls[1])} if calls else {"budget": seconds_of(text)}


def _end_gently() -> None:
    """Make SIGTERM close the target, as an interrupt does."""

    def interrupt(*_: Given) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


def _slug(target: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", target).strip("-").lower()[:80] or "target"


def _writable(html: Path | None, out: Path) -> None:
    require_page(html)
    if out.exists() and not out.is_dir():
        raise BadFile(str(out), "is not a folder.", "Name another with --out.")


def _records(columns: Given) -> str:
    if isinstance(columns, str):
        return columns
    shown = [
        f"{name} {about['low']:g}…{about['high']:g}"
        if "low" in about
        else f"{name} {'|'.join(map(str, about['values'][:4]))}{'|…' if len(about['values']) > 4 else ''}"
        for name, about in columns.items()
    ]
    return ", ".join(shown)


def _numbered(name: str, said: list[str]) -> dict[str, str]:
    """One fact per text; from the second on, the name gets a number."""
    return {name + (f" {i + 1}" if i else ""): text for i, text in enumerate(said)}


def _facts(result: Json) -> Json:
    """The verdict in words."""
    loud = result["undeleted"] in ("broken", "not perfectly safe")
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    facts = {
        "target": result["target"] + (f" ({versions})" if versions else ""),
        "records": _records(result["records"]),
        "undeleted": result["undeleted"].upper() if loud else result["undeleted"],
    }
    if result["delta_at_least"] is not None:
        facts["δ"] = f"at least {result['delta_at_least']:.3g}"
    if result["argument"]:
        facts["because"] = result["argument"]
    facts |= _numbered("assuming", result["assumptions"])
    for name in dict.fromkeys(attack["attack"] for attack in result["attacks"]):
        facts |= _numbered(name, [a["result"] for a in result["attacks"] if a["attack"] == name])
    if not loud:
        facts["detectable leak"] = result["smallest_leak_that_would_have_been_seen"]
    facts |= _numbered("indication", result["indications"])
    if result["rounding"]:
        facts["rounding"] = result["rounding"]
    forgets = result["forgets"].upper() if result["forgets"] == "no" else result["forgets"]
    facts["forgets"] = f"{forgets}: {result['forgets_why']}"
    facts["took"] = f"{result['seconds']:.1f} s, {result['calls']:,} calls"
    for name in ("witness", "report"):
        if result[name]:
            mark = " (holds real values)" if result["holds_real_values"] else ""
            facts[name] = result[name] + mark
    return facts
