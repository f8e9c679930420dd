"""Runs that claims share, each with the command that repeats it alone."""

import importlib

from undeleted.foundations.types import Json, Output
from undeleted.verifying.divergence import Divergence, privacy_of_the_undeleted
from undeleted.verifying.exact import ExactVerdict, GameName, verify
from undeleted.verifying.small_worlds import named_world

LIMIT = 600.0  # seconds; far more than any world here needs, so that no verdict depends on the machine


def command(*words: str, **options: Output) -> str:
    """A command line; an option that is a flag is given as True."""
    parts = ["undeleted", *words]
    for name, value in options.items():
        parts += [f"--{name.replace('_', '-')}"] + ([] if value is True else [f"{value}"])
    return " ".join(parts)


def attack(name: str, **parameters: Output) -> tuple[Json, str]:
    """Run an attack by name."""
    run = importlib.import_module(f"undeleted.games.attacks.{name.replace('-', '_')}").run
    return run(**parameters), command("attack", name, **parameters)


def least(
    name: str,
    game: GameName = "dynamic",
    *,
    domain: int = 2,
    n: int = 3,
    k: int = 1,
    epsilon: float = 0.0,
    leakage: str = "none",
    shortcuts: bool = True,
) -> tuple[ExactVerdict, str]:
    """The least δ of any simulator in a small world; without shortcuts, only by linear programs."""
    world = named_world(name, domain=domain, n=n, k=k, leakage=leakage).world
    result = verify(world, game, epsilon=epsilon, time_limit=LIMIT, shortcuts=shortcuts)
    more: Json = {"epsilon": epsilon} if epsilon else {}
    more |= {"leakage": leakage} if leakage != "none" else {}
    return result, command("verify", name, domain=domain, n=n, k=k, game=game, **more)


def private(name: str, *, domain: int = 2, n: int = 3, k: int = 1) -> tuple[Divergence, str]:
    """The exact differential privacy of those who stay, over the whole transcript."""
    result = privacy_of_the_undeleted(named_world(name, domain=domain, n=n, k=k).world)
    return result, command("verify", name, domain=domain, n=n, k=k, privacy=True)


def optimum(result: ExactVerdict) -> str:
    """The least δ, as far as it is proven."""
    low, high = result.literal.lower, result.literal.upper
    return f"{low}" if low == high else f"between {float(low):.6g} and {float(high):.6g}"
