"""Runs that claims share, each with the command that repeats it alone."""

import importlib
from typing import Any

from undeleted.verify.divergence import Divergence, privacy_of_the_undeleted
from undeleted.verify.exact import ExactVerdict, Game, verify
from undeleted.verify.small_worlds import subject

LIMIT = 600.0  # seconds; no world here comes near it, or a verdict would depend on the machine


def command(*words: str, **options: Any) -> str:
    """A command line; an option that is a flag is given as True."""
    parts = ["undeleted", *words]
    for name, value in options.items():
        parts += [f"--{name.replace('_', '-')}"] + ([] if value is True else [f"{value}"])
    return " ".join(parts)


def attack(name: str, **parameters: Any) -> tuple[dict[str, Any], str]:
    """Run an attack by name."""
    run = importlib.import_module(f"undeleted.games.attacks.{name.replace('-', '_')}").run
    return run(**parameters), command("attack", name, **parameters)


def least(
    name: str,
    game: Game = "dynamic",
    *,
    domain: int = 2,
    n: int = 3,
    k: int = 1,
    epsilon: float = 0.0,
    leakage: str = "none",
    shortcuts: bool = True,
) -> tuple[ExactVerdict, str]:
    """The least δ of any simulator, in a small world; without shortcuts always by linear programs."""
    world = subject(name, domain=domain, n=n, k=k, leakage=leakage).world
    found = verify(world, game, epsilon=epsilon, time_limit=LIMIT, shortcuts=shortcuts)
    more: dict[str, Any] = {"epsilon": epsilon} if epsilon else {}
    more |= {"leakage": leakage} if leakage != "none" else {}
    return found, command("verify", name, domain=domain, n=n, k=k, game=game, **more)


def private(name: str, *, domain: int = 2, n: int = 3, k: int = 1) -> tuple[Divergence, str]:
    """The exact differential privacy of those who stay, over the whole transcript."""
    found = privacy_of_the_undeleted(subject(name, domain=domain, n=n, k=k).world)
    return found, command("verify", name, domain=domain, n=n, k=k, privacy=True)


def optimum(found: ExactVerdict) -> str:
    """The least δ, as far as it is proven."""
    low, high = found.literal.lower, found.literal.upper
    return f"{low}" if low == high else f"between {float(low):.6g} and {float(high):.6g}"
