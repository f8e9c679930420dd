"""What a store reports about itself: the same facts and words on the command line and in the service."""

from undeleted.curate.curator import Curator
from undeleted.foundations.digits import in_digits
from undeleted.foundations.privacy import as_given
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.report.plan import Expected, in_force
from undeleted.interfaces.report.result import Result, plain, table

RULES = {  # how values became codes
    1: "values were encoded together with their column, as in older versions; see docs/reference/values.md",
    2: "each value was encoded on its own",
}


def budget_facts(curator: Curator) -> Json:
    """What was spent, of what, and at which version."""
    status = curator.status()
    return {
        "publications": list(status.publications),
        "version": status.version,
        "epsilon": status.epsilon,
        "delta": status.delta,
        "spent": status.spent,
        "left": status.left,
        "erasure_pending": status.erasure_pending,
    }


def budget_in_words(facts: Json) -> str:
    """ε, δ, and how much of it is left.

    >>> budget_in_words({"epsilon": 1.0, "delta": 1e-06, "spent": 0.25, "left": 0.75})
    'ε = 1, δ = 1e-06; 0.25 spent, 0.75 left'
    """
    delta = f", δ = {facts['delta']:g}" if facts["delta"] else ""
    return f"ε = {facts['epsilon']:g}{delta}; {facts['spent']:.4g} spent, {facts['left']:.4g} left"


def status_result(curator: Curator) -> Result:
    """What is published, over which columns, at what price and error; and whether erasure is pending.

    Errors of ratios depend on how many people there are: they are for the noisy count, if there is one.
    """
    store, held = curator.store, curator.status().held
    publications = {expected.name: _described(curator, expected) for expected in in_force(curator)}
    facts = {"store": store.path} | budget_facts(curator) | {"held": held, "publications": publications}
    facts["retain"] = store.retains
    ticks = ticks_of(curator)
    facts |= {"ticks": ticks} if ticks else {}
    pending = f"pending: {store.how_to_erase}" if facts["erasure_pending"] else "nothing is pending"
    text = {
        "store": store.path,
        "version": f"v{facts['version']}",
        "budget": budget_in_words(facts),
        **({"ticks": ticks_in_words(ticks)} if ticks else {}),
        "noise": "every tick has its own; deletions add none"
        if ticks
        else "as at publication: deletions add none",
        "erasure": pending,
        "folding": f"held back: {held:,}" if held else "no deletion is held back",
        **_kept(store),
    }
    head = ["publication", "kind", "columns", "ε", "± at 95%"]
    lines = [[plain(name), *map(_cell, p.values())] for name, p in publications.items()]
    return Result(facts, text, table([head, *lines]))


def _kept(store: Given) -> Json:
    """What is kept about people, if that is not their records."""
    if store.keeps_records:
        return {}
    each = "a tick" if store.growth is not None else "in all"
    if store.retains == "tags":
        return {
            "records": f"none are kept: people leave with their rows and salts, at most {store.capacity:,}"
        }
    return {"records": f"none are kept: people leave with receipts, at most {store.capacity:,} {each}"}


def ticks_of(curator: Curator) -> Json | None:
    """How far a table has grown; None if it does not grow."""
    status, growth = curator.status(), curator.store.growth
    if growth is None:
        return None
    hides = curator.store.facts.get("leavers", {"epsilon": None, "delta": None})
    return {
        "closed": status.ticks,
        "horizon": status.horizon,
        "next": None if status.due is None else status.due.isoformat(),
        "max_corrections": growth.first.max_corrections,
        "leavers": "shown" if not growth.hidden else "hidden",
        "leavers_epsilon": hides["epsilon"],
        "leavers_delta": hides["delta"],
    }


def ticks_in_words(ticks: Json) -> str:
    """How many ticks have closed, when the next does, and what hides who leaves."""
    due = f"; the next after {ticks['next'][:16].replace('T', ' ')}" if ticks["next"] else ""
    hidden = f"; who leaves is hidden: ε = {ticks['leavers_epsilon']:.3g}" if ticks["leavers_epsilon"] else ""
    hidden += f", δ = {ticks['leavers_delta']:g}" if ticks["leavers_delta"] else ""
    most = ticks["max_corrections"]
    corrections = f"; at most {most} correction{'s' if most > 1 else ''} a person" if most else ""
    return f"{ticks['closed']:,} of {ticks['horizon']:,} have closed{due}{corrections}{hidden}"


def _described(curator: Curator, expected: Expected) -> Json:
    columns = [column.name for column in curator.store.mechanisms[expected.name].columns]
    return {
        "kind": expected.kind,
        "columns": columns,
        "epsilon": as_given(expected.epsilon, curator.budget.epsilon),
        "half_width": expected.width,
    }


def _cell(value: Given) -> str:
    """A fact of a publication, as text."""
    if isinstance(value, list):
        return plain(", ".join(value)) or "–"
    if isinstance(value, float):
        return in_digits(float(f"{value:.3g}"))
    return "–" if value is None else str(value)


def check_result(problems: list[str], store: Given, *, since: bool = False) -> Result:
    """Whether a store is intact, and what could not be checked; exit code 1 if it is not intact."""
    rule, unchecked = store.rule, dict[str, str]()
    if not store.keeps_records:
        unchecked["noise"] = "not checked: it keeps no records, so nobody can tell what the noise is"
        if not since and store.retains == "receipts":
            unchecked["age"] = "not checked: an older copy looks the same; give a certificate with --since"
    facts = {"intact": not problems, "problems": problems, "rule": rule, "unchecked": list(unchecked)}
    listed = {f"problem {i}": problem for i, problem in enumerate(problems, start=1)}
    text = {"intact": not problems, **unchecked, "rule": f"{rule}: {RULES.get(rule, 'unknown')}"} | listed
    return Result(facts, text, code=int(bool(problems)))
