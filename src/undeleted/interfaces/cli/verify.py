"""`undeleted verify NAME`: the best simulator in a small world, and the privacy of those who stay."""

from fractions import Fraction
from typing import Annotated, Literal

import typer

from undeleted.errors import BadUsage
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.output import renders, working
from undeleted.interfaces.report.result import Result

SIDES: Json = {
    "none": None,
    "sum": lambda data: sum(map(int, data)),  # posts of a board are digits here
    "min": min,
    "max": max,
}
EPILOG = """
[bold]Examples[/bold]

undeleted verify retrain-median --domain 2 --n 3 --k 1

undeleted verify recompute-sum --game static --epsilon 0.5 --json

undeleted verify hidden-range-median --leakage shared

undeleted verify noisy-sum --privacy --k 2
"""


@renders
def verify(
    name: Annotated[
        str, typer.Argument(help="What to verify; `undeleted list small-worlds` shows the names.")
    ],
    domain: Annotated[int, typer.Option(help="The size m of {0, …, m − 1}; a power of two for pads.")] = 2,
    n: Annotated[int, typer.Option(help="How many people there are.")] = 3,
    k: Annotated[int, typer.Option(help="How many of them may leave; every k′ ≤ k is checked.")] = 1,
    game: Annotated[
        Literal["non-adaptive", "static", "dynamic"], typer.Option(help="The variant of the definition.")
    ] = "non-adaptive",
    epsilon: Annotated[
        float, typer.Option(help="The ε of (ε, δ)-similarity, in both directions; 0 is total variation.")
    ] = 0.0,
    leakage: Annotated[
        Literal["none", "shared", "fresh"],
        typer.Option(help="What a simulator learns of a leaky mechanism's hidden part."),
    ] = "none",
    side: Annotated[
        Literal["none", "sum", "min", "max"],
        typer.Option(help="What attacker and simulator know about the data in advance."),
    ] = "none",
    ratio: Annotated[str, typer.Option(help="The ratio r of the geometric noise, a fraction.")] = "1/2",
    low: Annotated[int | None, typer.Option(help="Noisy outputs below this are clamped to it.")] = None,
    high: Annotated[int | None, typer.Option(help="Noisy outputs above this are clamped to it.")] = None,
    privacy: Annotated[
        bool, typer.Option("--privacy", help="Compute differential privacy of those who stay, not safety.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(help="Stop after so many seconds, and print the bounds that were proven by then.")
    ] = 60.0,
) -> Result:
    """Prove in a small world whether deletions expose those who stay, or find the best attack.

    Exit code 0: the least δ is 0.  1: it is positive; the witness shows why.  3: the bounds do not decide.
    --privacy cannot be combined with --leakage or --side. With it, exit code 1 means that δ > 0 at your ε.
    """
    from undeleted.verifying.divergence import privacy_of_the_undeleted
    from undeleted.verifying.exact import verify as verify_world
    from undeleted.verifying.small_worlds import WorldNoise, named_world

    noise = WorldNoise(_fraction(ratio), low, high)
    chosen = named_world(name, domain=domain, n=n, k=k, noise=noise, leakage=leakage, side=SIDES[side])
    world = {"name": name, "domain": domain, "n": n, "k": k}
    if privacy and (leakage, side) != ("none", "none"):
        raise BadUsage("--privacy takes no leakage and no side information.", "Leave them out.")
    if privacy:
        with working(f"{name}: comparing neighbours"):
            divergence = privacy_of_the_undeleted(chosen.world, epsilon)
        result: Json = world | {"epsilon_promised": _log(chosen.promise)} | divergence.as_json()
        return Result(result, _privacy(result), code=int(epsilon > 0 and divergence.delta[0] > 0))
    with working(f"{name}: looking for the best simulator"):
        verdict = verify_world(chosen.world, game, epsilon=epsilon, time_limit=time_limit)
    result = world | {"leakage": leakage, "side": side} | verdict.as_json()
    below = ""
    if verdict.witness:
        below = _witness(verdict.witness)
    elif verdict.simulator:
        below = _simulator(verdict.simulator)
    return Result(result, _facts(result), below, code={True: 0, False: 1, None: 3}[verdict.safe])


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"'{text}' is not a fraction such as 1/2", param_hint="--ratio") from None


def _log(ratio: Fraction | None) -> float | None:
    from math import log

    return None if ratio is None else log(ratio)


def _facts(result: Json) -> Json:
    """The verdict in words."""
    return {
        "curator": _curator(result),
        "game": _game(result),
        "least_δ": _delta(result, ""),
        "keeping_z0": _delta(result, "_keep_z0"),
        "verdict": _verdict(result),
        "proof": result["how"],
        "size": f"{result['data_sets']:,} data sets, {result['histories']:,} histories; "
        f"{result['variables']:,} variables in {result['programs']:,} programs "
        f"({result['plain_variables']:,} as the definition writes them)",
        "seconds": round(result["seconds"], 3),
    }


def _simulator(entries: list[Json]) -> str:
    """The first few answers of a perfect simulator."""
    lines = ["the simulator (all of it with --json)"]
    for entry in entries[:4]:
        says = ", ".join(f"{z} with probability {p}" for z, p in entry["say"].items())
        given = f", given {entry['leaked']}" if "leaked" in entry else ""
        given += f", knowing {entry['known']}" if "known" in entry else ""
        before = "".join(
            f", delete {_deleted(step)}" if i % 2 == 0 else f" and see {step}"
            for i, step in enumerate(entry.get("then", []))
        )
        lines.append(
            f"  first {entry['first']}{given}{before}, delete {_deleted(entry['delete'])}: say {says}"
        )
    return "\n".join(lines)


def _game(result: Json) -> str:
    given = f", given g ({result['leakage']})" if result["leakage"] != "none" else ""
    side = f", knowing the {result['side']}" if result["side"] != "none" else ""
    close = f"; closeness (ε, δ) at ε = {result['epsilon']:g}" if result["epsilon"] else ""
    return f"{result['game']}{given}{side}{close}"


def _curator(result: Json) -> str:
    people = f"{result['n']} people on {result['domain']} value{'s' if result['domain'] > 1 else ''}"
    return f"{result['name']}, {people}, up to {result['k']} leave"


def _delta(result: Json, which: str) -> str:
    lower, upper, exact = result[f"lower{which}"], result[f"upper{which}"], result[f"delta{which}_exact"]
    if exact is not None:
        return f"{exact}" if "/" not in exact or len(exact) > 40 else f"{exact} = {lower:.6g}"
    return f"between {lower:.9g} and {upper:.9g}"


def _verdict(result: Json) -> str:
    if result["safe"]:
        if result["epsilon"]:
            return f"a simulator is ({result['epsilon']:g}, 0)-close in this world"
        return "a simulator is perfect in this world: deletions reveal nothing about those who stay"
    if result["safe"] is None:
        return "open: the proven bounds do not decide"
    return "BROKEN: no simulator comes closer than this"


def _witness(witness: Json) -> str:
    """Two data sets that the deletions tell apart."""
    one, other = witness["data"]
    lines = [f"two data sets   {one} and {other}"]
    if witness["strategy"] and isinstance(witness["strategy"][0], list):
        lines.append(f"delete          {', then '.join(_deleted(label) for label in witness['strategy'])}")
    else:
        for choice in witness["strategy"]:
            steps = [_deleted(s) + " →" if i % 2 else str(s) for i, s in enumerate(choice["seen"])]
            lines.append(f"having seen     {' '.join(steps)}: delete {_choice(choice)}")
    p, q = witness["first_probabilities"]
    lines.append(f"both may output {witness['first']} at first (probability {p} and {q})")
    lines.append("and then        probability on the first, on the second")
    for row in witness["then"]:
        p, q = row["probabilities"]
        lines.append(f"  {', '.join(map(str, row['outputs'])):<14}{p:<12}{q}")
    return "\n".join(lines)


def _privacy(result: Json) -> Json:
    def shown(epsilon: float | None) -> str:
        return "infinite" if epsilon is None else f"{epsilon:.6g}"

    facts = {
        "curator": _curator(result),
        "neighbours": f"{result['neighbours']:,} pairs that differ in one person who stays",
        "ε_of_the_first_release": shown(result["epsilon_first"]),
        "ε_of_the_whole_transcript": shown(result["epsilon_transcript"]),
        f"δ at ε = {result['epsilon']:.6g}": f"{result['delta_first']:.6g} at first, "
        f"{result['delta']:.6g} in total",
        "deletions_cost_those_who_stay": "nothing"
        if result["deletions_cost_nothing"]
        else "more than the release",
    }
    if result["epsilon_promised"] is not None:
        facts["ε_the_noise_was_calibrated_for"] = shown(result["epsilon_promised"])
    return facts


def _choice(choice: Json) -> str:
    return f"no. {choice['index']}" if "index" in choice else _deleted(choice["delete"])


def _deleted(label: list[Given]) -> str:
    """Format deleted points, with their index where it is known."""
    named = (f"no. {p[0]} ({p[1]})" if isinstance(p, tuple | list) and len(p) == 2 else str(p) for p in label)
    return " and ".join(named)
