"""`undeleted demo`: the project in four scenes, on generated people."""

from typing import Annotated

import typer

from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.daily_use import daily_use
from undeleted.interfaces.cli.output import renders, working
from undeleted.interfaces.report.result import Result

PEOPLE, OWN = 1001, 64


@renders
def demo(
    seed: Annotated[int, typer.Option(help="The same seed gives the same people, attack and noise.")] = 7,
) -> Result:
    """Watch a retraining curator leak the people who stay, and a release-once curator leak none."""
    from undeleted.curate.spec.example import MANY
    from undeleted.games.attacks import median_walk

    retrained = median_walk.run(n=PEOPLE, controlled=OWN, seed=seed)
    released = median_walk.run(n=PEOPLE, controlled=OWN, seed=seed, against="noisy-histogram")
    beside = real_beside_simulated(seed)
    with working("publishing a hundred thousand people"):
        said = daily_use(seed)
    commands = [{"command": command, "output": text} for command, text in said]
    facts = {"retrained": retrained, "release_once": released, "simulated": beside, "daily_use": commands}
    lines = [f"4  In daily use. {MANY:,} people in a file; the noise is drawn once, securely."]
    for command, text in said:
        lines += ["", f"   $ {command}", *(f"   {line}" for line in text.splitlines())]
    return Result(facts, scenes(retrained, released, beside) + "\n".join(lines))


def real_beside_simulated(seed: int) -> Json:
    """Compare a noisy histogram's real transcript with the simulator's, from the same first release."""
    from undeleted.foundations.coins import seeded
    from undeleted.games.attacks.median_walk import BINS, DOMAIN, stage
    from undeleted.games.dynamic import dynamic_game, ideal_game
    from undeleted.games.simulator import simulate

    people, curator, _ = stage(PEOPLE, "noisy-histogram", 1.0, seed)
    histogram, schema = curator.mechanism, curator.schema  # type: ignore[attr-defined]
    own = range(PEOPLE - OWN, PEOPLE)

    def attacker(world: Given) -> Given:
        world.corrupt(*own)
        outputs = [world.look(), *(world.delete(i) for i in own)]
        return [histogram.count(z, value=(DOMAIN // 2, DOMAIN)) for z in outputs], [z.value for z in outputs]

    _, (real, real_cells) = dynamic_game(curator, attacker, people, OWN, seeded(seed))
    simulator = simulate(histogram, schema, attacker)
    _, (ideal, ideal_cells) = ideal_game(curator, simulator, people, OWN, seeded(seed))
    edge = schema.columns[0].decode(BINS // 2 - 0.5)  # values are rounded to the nearest bin
    value, low, high, confidence, *_ = real[-1]
    return {
        "domain": DOMAIN,
        "real": [count for count, *_ in real],
        "simulated": [count for count, *_ in ideal],
        "numbers_compared": sum(len(cells) for cells in real_cells),
        "identical": (real, real_cells) == (ideal, ideal_cells),
        "estimate": {"value": value, "low": low, "high": high, "confidence": confidence},
        "exact": sum(v >= edge for v in people[: PEOPLE - OWN]),
    }


def scenes(retrained: Json, released: Json, beside: Json) -> str:
    """The first three scenes as text, coloured on a terminal; no line is longer than 79 characters."""
    from rich.console import Console

    out = Console(highlight=False, soft_wrap=True)
    e = beside["estimate"]
    held = f"[{e['low']:.0f}, {e['high']:.0f}] at {e['confidence']:.0%}; exact: {beside['exact']}"
    exposed = f"{retrained['exposed']} people who stayed, each to the last digit"
    shown = [0, 1, 2, 3, 4, 16, 32, 63, 64]
    counts = [" ".join(f"{int(beside[who][i]):>5}" for i in shown) for who in ("real", "simulated")]
    steps = " ".join(f"{i:>5}" for i in shown)
    verdict = "[green]identical[/green]" if beside["identical"] else "[red]DIFFERENT[/red]"
    with out.capture() as captured:
        out.print(f"""
[bold]{retrained["n"]:,} people, each with a private number below {beside["domain"]:,}.[/bold]
{retrained["controlled"]} of the records are an attacker's own. It deletes them one by one, and watches
what is published.

[bold]1  A curator that retrains[/bold] publishes the exact median again after each deletion.
   exposed     [red]{exposed}[/red] (theory: {retrained["predicted"]})
   wrong       {retrained["wrong"]}

[bold]2  A release-once curator[/bold] publishes a noisy histogram, then subtracts leavers.
   exposed     [green]{released["exposed"]} people[/green], by the same attack with the same records
   estimate    {e["value"]:.0f} people in the upper half, {held}
   price       ε = 1, once (neighbours differ by one person added or removed)

[bold]3  Why.[/bold] A simulator that has never seen the data writes the same transcript,
   from the first release and the attacker's own records. The upper half:
   [dim]deletions {steps}[/dim]
   real      {counts[0]}
   simulated {counts[1]}
   all {beside["numbers_compared"]:,} published numbers: {verdict}
""")
    return captured.get()
