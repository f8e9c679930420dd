"""A bulletin board, where posts are taken down, is undeleted-safe, although older definitions forbid it."""

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Schema, Text
from undeleted.paper.claim import ClaimResult, Setting
from undeleted.paper.claims.m1_exact_sum import safe_and_forbidden

SAYS = (
    "A bulletin board lets people post in public and take their posts down. It is stateless, so it "
    "satisfies the new definition. Definitions under which Alice's presence must not be seen by others "
    "cannot allow it."
)
WHERE = "Section 4, and the survey in Section 1.2"


def m2_bulletin_board(setting: Setting) -> ClaimResult:
    return safe_and_forbidden("bulletin-board", setting, maintained(setting))


def maintained(setting: Setting) -> int:
    """The largest number of posts that differ from a board that is built from scratch."""
    n = setting.pick(60, 300)
    post = Text("post")
    schema, board = Schema([post]), BulletinBoard(post)
    order = [int(i) for i in seeded(f"posts {setting.seed}").choose(n, n)]
    posts = [f"post {i % (n // 2)}" for i in order]  # every post is there twice
    release = board.release(Arrays(schema.table(posts)), seeded(setting.seed))
    worst = 0
    for i, gone in enumerate(posts[:-1]):
        release = board.forget(release, board.contribution(schema.table([gone])))
        worst = max(worst, len(set(release) ^ set(posts[i + 1 :])) + abs(len(release) - (n - i - 1)))
    return worst
