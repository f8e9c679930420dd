"""`undeleted audit TARGET` and `undeleted replay WITNESS --target TARGET`."""

import re
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from undeleted.errors import BadColumns, BadFile, BadQuestion
from undeleted.interfaces.cli.output import AsJson, print_facts, print_json, require_page

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

mechanism:NAME, baseline:NAME, leaky:NAME, retrain:median, recompute:sum: ours; `undeleted list` has the names

package.module:thing or file.py:thing: an estimator (retrained), or an object with a deletion of its own

exec:COMMAND: any program that answers {"op":"start",…} and {"op":"delete",…}, one JSON object per line
"""
REPLAY_EPILOG = """
[bold]Example[/bold]

undeleted replay audit/retrain-median.json --target retrain:median
"""

Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the target, as JSON or text."),
]
See: TypeAlias = Annotated[
    str,
    typer.Option(help="What is seen: attributes by name, fitted, predictions, labels, or keys of an output."),
]
At: TypeAlias = Annotated[Path | None, typer.Option(help="A file of points where predictions are asked for.")]
Digits: TypeAlias = Annotated[
    int | None, typer.Option(help="The observer sees numbers rounded to so many decimals.")
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=RANGE", help="A column of the records: age=0..120, or sex=f,m."),
]
Label: TypeAlias = Annotated[str | None, typer.Option(help="The column that a model learns.")]
Features: TypeAlias = Annotated[int, typer.Option(help="How many columns a model gets, if none are named.")]
FirstEpsilon: TypeAlias = Annotated[
    float | None, typer.Option(help="Assume that the first output is ε-DP for replacing one person.")
]
FirstDelta: TypeAlias = Annotated[float, typer.Option(help="The δ of that assumption.")]
Tolerance: TypeAlias = Annotated[
    float, typer.Option(help="Differences below this, relative, count as rounding.")
]
Confidence: TypeAlias = Annotated[float, typer.Option(help="1 − the rate of false alarms.")]
Budget: TypeAlias = Annotated[str, typer.Option(help="For all of it: 60s, 2m; or 20000calls, however slow.")]


def audit(
    target: Annotated[str, typer.Argument(help="What to audit; see below.")],
    settings: Settings = None,
    data: Annotated[
        Path | None, typer.Option(help="Draw worlds from these real rows; the report then holds real values.")
    ] = None,
    id: Annotated[str, typer.Option(help="The column of the data that names people; left out.")] = "id",
    see: See = "",
    at: At = None,
    digits: Digits = None,
    column: Columns = None,
    label: Label = None,
    features: Features = 1,
    people: Annotated[int, typer.Option(help="The most people in a world.")] = 32,
    budget: Budget = "60s",
    patience: Annotated[str, typer.Option(help="The time for one call; half the budget, 30 s at most.")] = "",
    first_epsilon: FirstEpsilon = None,
    first_delta: FirstDelta = 0.0,
    unseeded: Annotated[
        bool, typer.Option("--unseeded", help="The target draws randomness of its own; seeds do not fix it.")
    ] = False,
    tolerance: Tolerance = 1e-9,
    confidence: Confidence = 0.95,
    seed: Annotated[int, typer.Option(help="The same seed gives the same worlds.")] = 7,
    out: Annotated[Path, typer.Option(help="The folder for the verdict and its witness.")] = Path("audit"),
    html: Annotated[Path | None, typer.Option(help="Write a report that opens offline.")] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave real values out of witness and report.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Does honouring deletions here expose the people who stay?  And does it forget?

    Exit code 0: not broken by these attacks, and it forgets as far as was seen.  1: a finding; the witness
    replays.  3: the target failed, and there is no verdict.
    """
    from undeleted.audit.auditor import Options
    from undeleted.audit.auditor import audit as audit_target
    from undeleted.audit.sequential_tests import FirstOutput
    from undeleted.audit.witness import VERDICT, save, write

    _end_gently()
    _writable(html, out)
    rows = _rows(data, id)
    named = _named(target, settings, see, at, column, label, features, rows)
    options = Options(
        **_budget(budget),
        patience=_seconds(patience) if patience else None,
        seed=seed,
        digits=digits,
        people=people,
        confidence=confidence,
        tolerance=tolerance,
        first=FirstOutput(first_epsilon, first_delta),
        unseeded=unseeded,
        rows=tuple(rows),
    )
    with _progress_bar() as progress:
        verdict = audit_target(named, options, progress)
    result = verdict.as_json() | {"witness": None, "replay": None, "report": None}
    result["holds_real_values"] = verdict.real_values and not redact
    if verdict.findings:
        path = out / f"{_slug(target)}.json"
        save(verdict, path, redact=redact)
        result["witness"] = str(path)
        result["replay"] = None if redact else _replay_command(path, named, options)
    if html is not None:
        from undeleted.interfaces.report.audit import write_page

        write_page(verdict, html, replay=result["replay"], redact=redact)
        result["report"] = str(html)
    kept = {name: value for name, value in result.items() if name not in ("report", "witness")}
    write(out / f"{_slug(target)}{VERDICT}", dumps(kept, indent=1) + "\n", private=verdict.real_values)
    print_json(result) if json else _show(result)
    return verdict.exit_code


def replay(
    witness: Annotated[Path, typer.Argument(help="A witness that `undeleted audit` wrote.")],
    target: Annotated[str, typer.Option(help="What to run; nothing else is run.")],
    settings: Settings = None,
    see: See = "",
    digits: Digits = None,
    first_epsilon: FirstEpsilon = None,
    first_delta: FirstDelta = 0.0,
    tolerance: Tolerance = 1e-9,
    confidence: Confidence = 0.95,
    budget: Budget = "60s",
    seed: Annotated[
        int | None, typer.Option(help="For the same fresh runs again; drawn if it is not said.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Run a witness again, from scratch, on a target that the command line names.

    The witness gives worlds and deletions.  What is assumed, the confidence and what counts as rounding are
    yours, whatever the witness says.  Exit code 1: what it shows still holds.  0: it does not any more.
    """
    from undeleted.audit.replaying import Terms
    from undeleted.audit.replaying import replay as run_again
    from undeleted.audit.sequential_tests import FirstOutput

    _end_gently()
    named = _named(target, settings, see, None, None, None, 1, [])
    terms = Terms(digits, FirstOutput(first_epsilon, first_delta), confidence, tolerance)
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
    if json:
        print_json(result)
    else:
        for r in replayed:
            print(
                f"{r.kind:<12}{'HOLDS' if r.counts else 'holds' if r.holds else 'does not hold':<15}{r.says}"
            )
            for reason in r.rests_on:
                print(f"{'':<12}{'resting on':<15}{reason}")
        print(f"{'seed':<12}{seed}")
    return int(still)


def _replay_command(path: Path, named: Any, options: Any) -> str:
    """What runs the witness again, on the same terms."""
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
    rows: list[dict[str, Any]],
) -> Any:
    from undeleted.audit.columns import columns_of, parse_column
    from undeleted.audit.targets import Named

    columns = tuple(map(parse_column, column or ()))
    if rows and columns:
        raise BadQuestion("--column and --data exclude each other.", "The data say what their columns are.")
    if rows:
        columns = columns_of(rows)
    if features < 1:
        raise BadQuestion(f"{features} features are none.", "Give 1 or more.")
    if label is not None and columns and label not in [c.name for c in columns]:
        raise BadColumns(
            [label], "the label is no column.", f"The columns: {', '.join(c.name for c in columns)}."
        )
    seen = tuple(s.strip() for s in see.split(",") if s.strip())
    return Named(target, dict(map(_setting, settings or ())), seen, _points(at), columns, label, features)


def _setting(text: str) -> tuple[str, Any]:
    import json

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise BadQuestion(f"{text!r} is no setting.", "Write --set n_clusters=2.")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, {"True": True, "False": False, "None": None}.get(value, value)


def _points(at: Path | None) -> tuple[tuple[float, ...], ...]:
    if at is None:
        return ()
    from undeleted.curate.files import rows

    found = rows(str(at), MOST_ROWS)
    try:
        return tuple(tuple(float(v) for v in row.values()) for row in found)
    except ValueError:
        raise BadFile(str(at), "holds more than numbers.", "Give one number for every feature.") from None


def _rows(data: Path | None, id: str) -> list[dict[str, Any]]:
    if data is None:
        return []
    from undeleted.curate.files import rows

    found = rows(str(data), MOST_ROWS)
    if not found:
        raise BadFile(str(data), "has no complete row.", "Fill the gaps, or leave columns out.")
    if id not in found[0] and id != "id":
        raise BadColumns([id], f"not in {data}.", f"It has {', '.join(found[0])}.")
    return [{k: v for k, v in row.items() if k != id} for row in found]


def _budget(text: str) -> dict[str, Any]:
    """Seconds, or calls of the target."""
    calls = re.fullmatch(r"\s*(\d+)\s*calls?\s*", text)
    return {"calls": int(calls[1])} if calls else {"budget": _seconds(text)}


def _seconds(text: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)?\s*", text)
    if not found:
        raise BadQuestion(f"{text!r} is no time.", "Write 60s or 2m.")
    return float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)


def _end_gently() -> None:
    """A termination closes the target, as an interrupt does."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


def _slug(target: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", target).strip("-").lower()[:80] or "target"


def _writable(html: Path | None, out: Path) -> None:
    require_page(html)
    if out.exists() and not out.is_dir():
        raise BadFile(str(out), "is no folder.", "Name another with --out.")


@contextmanager
def _progress_bar() -> Iterator[Callable[[float, str], None]]:
    """How much of the budget is gone, and what for; silent in a pipe."""
    if not sys.stderr.isatty():
        yield lambda share, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda share, text: bar.update(task, completed=min(1.0, share), description=f"{text:<32}")


def _records(columns: Any) -> str:
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
    """One fact for each, the later ones by number."""
    return {name + (f" {i + 1}" if i else ""): text for i, text in enumerate(said)}


def _show(result: dict[str, Any]) -> None:
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
        facts["would have seen"] = result["smallest_leak_that_would_have_been_seen"]
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
    print_facts(facts)
    if result["replay"]:
        print(f"\n{result['replay']}   runs it again")
