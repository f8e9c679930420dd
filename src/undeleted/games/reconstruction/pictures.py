"""Pictures of a reconstruction: a hidden image that appears as points are deleted, and one that does not."""

import base64
import importlib.util
import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from undeleted.errors import BadFile, BadSetting, MissingExtra
from undeleted.foundations.arrays import Array
from undeleted.games.reconstruction.block_attackers import BlockAttacker
from undeleted.games.reconstruction.fourier_queries import reconstruct
from undeleted.games.reconstruction.tasks import BatchQueries

FRAMES = (0.25, 0.5, 0.75, 1.0)


def sides(n: int) -> tuple[int, int]:
    """Height and width of n pixels, square or twice as wide."""
    half = (n.bit_length() - 1) // 2
    return 1 << half, n >> half


def hidden_picture(n: int) -> Array:
    """A generated image of rings and a wave, half black and half white."""
    height, width = sides(n)
    y, x = np.mgrid[0:height, 0:width]
    u, v = x / width - 0.5, y / height - 0.5
    radius = np.hypot(u * 1.1, v)
    shape = np.cos(28 * radius) + 0.8 * np.cos(9 * u + 5 * np.sin(6 * v)) + 2.0 * (radius < 0.12)
    order = np.argsort(shape.ravel(), kind="stable")
    members = np.zeros(n, dtype=np.uint8)
    members[order[n // 2 :]] = 1
    return members


def reconstruction_picture(
    path: str, n: int, world: Callable[[bool], BatchQueries], attacker: BlockAttacker
) -> None:
    """Write two rows of frames: what an attacker sees of a retraining curator, and of a release-once one."""
    target = require_writable(path, "PIL")
    save_image(frames_of(n, world, attacker), target)


def frames_of(n: int, world: Callable[[bool], BatchQueries], attacker: BlockAttacker) -> Array:
    """The pixels of both rows."""
    rows = [_frames(n, world(frozen), attacker) for frozen in (False, True)]
    return np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)


def seen_after(n: int, world: BatchQueries, attacker: BlockAttacker, blocks: int) -> tuple[Array, Array]:
    """What the attacker sees after `blocks` answered blocks: pixels, and its guess of the members."""
    at: list[Array] = []

    def progress(answers: Array, block: int) -> None:
        if world.blocks - block + 1 == blocks:
            at.append(_known(answers, block, n, world.t))

    attacker(world, progress)
    estimate = reconstruct(at[0])
    return _grey(estimate, n), estimate > 0.5


def _known(answers: Array, block: int, n: int, t: int) -> Array:
    """The answers from this block on; an answer that is not known yet is replaced by its mean."""
    known = answers.copy()
    known[: (block - 1) * t] = n / 4
    known[0] = n / 2  # how many members there are is public
    return known


def _frames(n: int, world: BatchQueries, attacker: BlockAttacker) -> list[Array]:
    """x̂ after a quarter, a half, … of the blocks."""
    frames: list[Array] = []
    wanted = [round(world.blocks * (1 - share)) + 1 for share in FRAMES]

    def progress(answers: Array, block: int) -> None:
        while len(frames) < len(FRAMES) and block <= wanted[len(frames)]:
            frames.append(_grey(reconstruct(_known(answers, block, n, world.t)), n))

    answers = attacker(world, progress)
    while len(frames) < len(FRAMES):
        frames.append(_grey(reconstruct(answers.copy()), n))
    return frames


def _grey(estimate: Array, n: int) -> Array:
    frame = np.clip(255 * estimate, 0, 255).astype(np.uint8).reshape(sides(n))
    return np.pad(frame, 4, constant_values=128)


def require_writable(path: str, library: str) -> Path:
    """Refuse a picture that cannot be made or written, before the work begins."""
    target = Path(path)
    if target.suffix not in (".png", ".svg", ".html"):
        problem = f"{target.suffix or 'no ending'} is not a picture format."
        raise BadSetting(problem, "Give a file name that ends in .png, .svg or .html.")
    if not target.parent.is_dir() or target.is_dir():
        raise BadFile(path, "is not a file in an existing folder.", "Choose a folder that exists.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise BadFile(path, "is not writable.", "Choose another path.")
    if importlib.util.find_spec(library) is None:
        raise MissingExtra("this picture", library, "plots")
    return target


def save_image(pixels: Array, target: Path) -> None:
    """Write grey pixels as PNG, or as a PNG inside SVG or HTML; needs the `plots` extra."""
    from PIL import Image

    image = Image.fromarray(pixels)
    if target.suffix == ".png":
        image.save(target)
        return
    href = f"data:image/png;base64,{as_png(pixels)}"
    height, width = pixels.shape
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f"<title>Top: a curator that retrains. Bottom: one that releases once.</title>"
        f'<image href="{href}" width="{width}" height="{height}"/></svg>'
    )
    page = (
        f"<!doctype html><html lang='en'><title>undeleted: a hidden picture</title><body>{svg}</body></html>"
    )
    target.write_text(svg if target.suffix == ".svg" else page, encoding="utf-8")


def as_png(pixels: Array) -> str:
    """Grey pixels as a PNG, in base64."""
    from PIL import Image

    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "png", optimize=True)
    return base64.b64encode(data.getvalue()).decode()
