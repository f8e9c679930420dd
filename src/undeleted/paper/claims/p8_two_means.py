"""2-means on the line: two published centres reveal people near their boundary exactly."""

from undeleted.games.attacks.kmeans_line import play, read_off, right_of
from undeleted.games.reconstruction.line_picture import line_chart
from undeleted.paper.claim import ClaimResult, Picture, Setting, exactly, more_than
from undeleted.paper.claims._runs import attack

SAYS = (
    "A curator reruns Lloyd's algorithm for 2-means on the line after every deletion and publishes the "
    "centres. An attacker with a share of the points learns the sizes of the clusters, and when exactly "
    "one point jumps between them it learns that point. This happens several times, on uniform and on "
    "bimodal data."
)
WHERE = "Appendix A"
NOTE = (
    "If the far centre does not move, the size of the other cluster has a closed form, and centre × size "
    "is a prefix sum: that subsumes the appendix's search for integers. Only integer sums are accepted, so "
    "no claim is ever wrong. The authors' program counts events without a solution as successes, and never "
    "isolates a point; ours does not count them."
)


def p8_two_means(setting: Setting) -> ClaimResult:
    n = setting.pick(10_000, 20_000)
    figures = []
    for distribution in ("uniform", "bimodal"):
        result, command = attack("kmeans-line", n=n, distribution=distribution, seed=setting.seed)
        what = f"people recovered exactly, of {result['undeleted']:,} who stayed ({distribution})"
        figures.append(more_than(what, result["recovered_points"], 1, command))
        figures.append(exactly(f"wrong claims among them ({distribution})", result["false_positives"], 0))
        events = result["events"]
        what = (
            f"of {events['both_moved']} steps in which both centres moved, those whose sizes the "
            f"appendix's search solves uniquely ({distribution})"
        )
        figures.append(more_than(what, events["unique"] / max(1, events["both_moved"]), 0.9))
    safe, command = attack("kmeans-line", n=n, against="release-once", seed=setting.seed)
    what = "the same attack on 2-means of a noisy histogram that is released once"
    figures.append(exactly(what, safe["recovered_points"], 0, command))
    return ClaimResult(tuple(figures), (picture(setting),), note=NOTE)


def picture(setting: Setting) -> Picture:
    n = 10_000
    others, world, states, margin = play(n, 0.1, "uniform", "lloyd", setting.seed)
    result = right_of(read_off(states, world.own, margin), others)
    caption = (
        f"The boundary between the two means as {len(states) - 1:,} points are deleted, and {len(result)} "
        "people whom it passed, recovered exactly."
    )
    alt = (
        "The boundary walks to the left and back to the right; ticks mark people near it, those in red "
        "were recovered."
    )
    return Picture(caption, alt, line_chart(others, states, result).to_dict())
