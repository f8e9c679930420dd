"""The attacks, side by side: a curator that retrains, and one that released once.

Every run is the real attack on generated people, up to the player's number of deletions; the command that
runs it again is shown beside it.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from undeleted.errors import BadSetting, UnknownName
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, seeded
from undeleted.foundations.types import Given, Json
from undeleted.games.attacks import batch_queries, kmeans_line
from undeleted.games.attacks.median_walk import DOMAIN, median_walk, stage
from undeleted.games.dynamic import dynamic_game
from undeleted.games.reconstruction.block_attackers import single
from undeleted.games.reconstruction.fourier_queries import exact_answers
from undeleted.games.reconstruction.pictures import as_png, hidden_picture, seen_after
from undeleted.games.reconstruction.tasks import BatchQueries
from undeleted.games.worlds import World
from undeleted.interfaces.http import charts

SEEDS = 10_000
MODELS = importlib.util.find_spec("sklearn") is not None


@dataclass(frozen=True)
class Panel:
    """One side of a run."""

    curator: str
    about: str
    says: str  # what the attacker has learned
    leaks: bool
    facts: tuple[tuple[str, str], ...]
    command: str
    chart: Json | None = None
    image: str | None = None  # a PNG, in base64
    described: str = ""  # the picture in words


@dataclass(frozen=True)
class Game:
    """A game of the lab: its curators, how many points are the player's, and a run."""

    name: str
    title: str
    story: str
    retrains: tuple[str, ...]
    ours: tuple[str, ...]
    own: int
    step: int  # deletions per visible change
    play: Callable[[str, int, int], Panel]


# -- the median reveals its neighbours

PEOPLE, OWN = 101, 40
ABOUT = {
    "retrain-median": "publishes the exact median again after each deletion",
    "noisy-histogram": "published a noisy histogram once (ε = 1) and subtracts those who leave",
    "frozen-median": "published the median once and keeps it",
    "lloyd": "runs 2-means again after each deletion",
    "sklearn": "runs scikit-learn's KMeans again after each deletion",
    "release-once": "published a noisy histogram once and subtracts those who leave",
    "undeleted": "published boxes once with noise (ε = 1), as our KMeans does",
    "retrain": "answers a block of queries again, with fresh differential privacy, after each deletion",
}


def median(curator: str, deleted: int, seed: int) -> Panel:
    """Run `undeleted attack median-walk` with this many deleted points of the player."""
    people, algorithm, read = stage(PEOPLE, curator, 1.0, seed)
    outputs: list[int] = []

    def listen(output: Given) -> int:
        outputs.append(int(read(output)))
        return outputs[-1]

    own = range(PEOPLE - deleted, PEOPLE)

    def attacker(world: World) -> frozenset[Given]:
        return median_walk(world, controlled=own, read=listen)

    _, claims = dynamic_game(algorithm, attacker, people, deleted, seeded(seed))
    others = people[: PEOPLE - OWN]
    exposed = sorted(set(claims) & set(people[: PEOPLE - deleted]))
    first = outputs[0] if outputs else None
    known = {first: "published at first"} | dict.fromkeys(exposed, "exposed by deletions")
    rows = [{"value": v, "row": "others", "who": known.get(v, "hidden")} for v in others] + [
        {"value": v, "row": "mine", "who": "mine, deleted" if i >= PEOPLE - deleted else "mine"}
        for i, v in enumerate(people)
        if i >= PEOPLE - OWN
    ]
    kinds = {
        "hidden": "@soft",
        "exposed by deletions": "@bad",
        "mine": "@one",
        "mine, deleted": "@faint",
        "published at first": "@other",
    }
    shown = ", ".join(f"{v:,}" for v in exposed[:4]) + (" …" if len(exposed) > 4 else "")
    says = f"{_people(len(exposed))} exposed by deletions" + (", to the last digit" if exposed else "")
    last = outputs[-1] if outputs else None
    return Panel(
        curator,
        ABOUT[curator],
        says,
        bool(exposed),
        (
            ("published median", f"{last:,}" if last is not None else "–"),
            ("exposed values", shown or "none"),
            ("wrong claims", str(len(claims) - len(exposed))),
        ),
        f"undeleted attack median-walk --n {PEOPLE} --controlled {deleted} --against {curator} --seed {seed}",
        charts.people(rows, kinds, [{"value": v} for v in outputs[-1:]]),
        described=f"{len(others)} other people on a line from 0 to {DOMAIN:,}, {len(exposed)} of them "
        f"exposed; {OWN} points are mine, {deleted} of them deleted.",
    )


def _people(count: int) -> str:
    """Say how many of those who stay are …"""
    return (
        "nobody who stays is"
        if not count
        else f"{count} {'person who stays is' if count == 1 else 'people who stay are'}"
    )


# -- 2-means reveals its points

MANY, SHARE = 400, 0.25
_played = lru_cache(16)(lambda curator, seed: kmeans_line.play(MANY, SHARE, "uniform", curator, seed))


def means(curator: str, deleted: int, seed: int) -> Panel:
    """Run `undeleted attack kmeans-line` up to this many deletions."""
    others, world, states, margin = _played(curator, seed)
    seen = states[: deleted + 1]
    result = kmeans_line.right_of(kmeans_line.read_off(seen, world.own, margin), others)
    wrong = len(kmeans_line.read_off(seen, world.own, margin)) - len(result)
    path = [{"deletions": i, "value": sum(s.centres) / 2} for i, s in enumerate(seen)]
    low, high = min(p["value"] for p in path), max(p["value"] for p in path)
    pad = max(0.1 * (high - low), 20_000)
    exposed = set(result.values())
    near = [int(v) for v in others if low - pad <= v <= high + pad]
    rows = [{"value": v, "deletions": deleted, "who": "exposed" if v in exposed else "hidden"} for v in near]
    says = f"{_people(len(result))} exposed by deletions" + (", exactly" if result else "")
    centres = " and ".join(f"{c:,.1f}" for c in seen[-1].centres)
    shown = ", ".join(f"{v:,}" for v in sorted(exposed)[:4]) + (" …" if len(exposed) > 4 else "")
    return Panel(
        curator,
        ABOUT[curator],
        says,
        bool(result),
        (("published centres", centres), ("exposed values", shown or "none"), ("wrong claims", str(wrong))),
        f"undeleted attack kmeans-line --n {MANY} --alpha {SHARE} --against {curator} --seed {seed}"
        f"   # runs all {len(states) - 1} deletions",
        charts.walk(path, rows, {"hidden": "@soft", "exposed": "@bad"}),
        described=f"The boundary between the two centres after each of {deleted} deletions; "
        f"{len(near)} people near it, {len(result)} of them exposed.",
    )


# -- a hidden picture appears

PIXELS, BLOCK, KNOWN = 2**14, 128, 2
STARS = 3 * KNOWN * (PIXELS // BLOCK - 1)


def picture(curator: str, deleted: int, seed: int) -> Panel:
    """Run `undeleted attack batch-queries --picture` up to this many deletions."""
    pixels, sure = _pictured(curator, deleted, seed)
    share = f"{sure:.0%}"
    leaks = sure > 0.55
    says = f"{share} of {PIXELS:,} members are guessed right; chance gives half"
    about = ABOUT[curator] if curator == "retrain" else "answered one block of queries once and keeps them"
    return Panel(
        curator,
        about,
        says,
        leaks,
        (("guessed right", share), ("deleted", f"{deleted:,} of {STARS:,} points")),
        f"undeleted attack batch-queries --n {PIXELS} --k {KNOWN} --t {BLOCK} --epsilon 4 "
        f"--against {curator} --seed {seed} --picture hidden.png   # runs all {STARS:,}",
        image=as_png(pixels),
        described=f"A picture of {PIXELS:,} pixels as the attacker sees it: {share} of them are right.",
    )


@lru_cache(64)
def _pictured(curator: str, deleted: int, seed: int) -> tuple[Given, float]:
    members = hidden_picture(PIXELS)
    sigma = batch_queries.sigma_of("tight", BLOCK, 4.0, 1e-6)
    laws = (DiscreteLaplace(2 / 4.0), DiscreteGaussian(sigma))
    frozen = curator == "release-once"
    world = BatchQueries(exact_answers(members), KNOWN, BLOCK, laws, seeded(seed), frozen=frozen)
    blocks = deleted // (3 * KNOWN) + 1
    pixels, guesses = seen_after(PIXELS, world, single, blocks)
    return pixels, float((guesses == (members == 1)).mean())


GAMES = {
    game.name: game
    for game in (
        Game(
            "median",
            "The median reveals its neighbours",
            f"{PEOPLE} people each have a number. {OWN} of the records are yours, at the upper end. Delete "
            "them, one by one: a retrained median steps down, and every other step lands on somebody else.",
            ("retrain-median",),
            ("noisy-histogram", "frozen-median"),
            OWN,
            1,
            median,
        ),
        Game(
            "means",
            "2-means reveals its points",
            f"{MANY} people on a line, {round(SHARE * MANY)} of the records are yours. Each deletion moves "
            "the two centres a little, and the boundary between them (the line) with them. When it passes "
            "somebody who stays, that person changes sides, and two sums that differ only in them show who.",
            ("lloyd", *(("sklearn",) if MODELS else ())),
            ("release-once", *(("undeleted",) if MODELS else ())),
            round(SHARE * MANY),
            1,
            means,
        ),
        Game(
            "picture",
            "A hidden picture appears",
            f"{PIXELS:,} possible members, black and white; {STARS:,} records are yours. The curator answers "
            "a block of questions with differential privacy each time; which block depends on how many of "
            "your records are left. So you make it answer block after block, until the picture is complete.",
            ("retrain",),
            ("release-once",),
            STARS,
            3 * KNOWN,
            picture,
        ),
    )
}


def play(game: str, left: str, right: str, deleted: int, seed: int) -> tuple[Panel, Panel]:
    """Play both sides up to this many deletions."""
    if game not in GAMES:
        raise UnknownName("games", game, tuple(GAMES))
    result = GAMES[game]
    for curator, known in ((left, result.retrains), (right, result.ours)):
        if curator not in known:
            raise UnknownName("curators of this game", curator, known)
    if not 0 <= deleted <= result.own or not 0 <= seed < SEEDS:
        raise BadSetting(
            f"{deleted} deletions with seed {seed} cannot be played.",
            f"Delete from 0 to {result.own}; choose a seed from 0 to {SEEDS - 1}.",
        )
    return result.play(left, deleted, seed), result.play(right, deleted, seed)
