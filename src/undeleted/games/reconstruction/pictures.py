"""Pictures of a reconstruction: a hidden image that appears as points are deleted, and one that does not."""

import base64
import importlib.util
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from undeleted.errors import BadFile, BadQuestion
from undeleted.games.reconstruction.fourier_queries import reconstruct

FRAMES = (0.25, 0.5, 0.75, 1.0)


def sides(n: int) -> tuple[int, int]:
    """Height and width of n pixels, square or twice as wide."""
    half = (n.bit_length() - 1) // 2
    return 1 << half, n >> half


def hidden_picture(n: int) -> Any:
    """Rings and a wave that we draw ourselves, half black and half white."""
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
    path: str, n: int, world: Callable[[bool], Any], attacker: Callable[..., Any]
) -> None:
    """Two rows of frames: what the attacker sees of a curator that retrains, and of a release-once one."""
    target = require_writable(path, "PIL")
    save_image(frames_of(n, world, attacker), target)


def frames_of(n: int, world: Callable[[bool], Any], attacker: Callable[..., Any]) -> Any:
    """The pixels of both rows."""
    rows = [_frames(n, world(frozen), attacker) for frozen in (False, True)]
    return np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)


def seen_after(n: int, world: Any, attacker: Callable[..., Any], blocks: int) -> tuple[Any, Any]:
    """What the attacker sees when so many blocks were answered: pixels, and who it thinks is a member."""
    at: list[Any] = []

    def progress(answers: Any, block: int) -> None:
        if world.blocks - block + 1 == blocks:
            at.append(_known(answers, block, n, world.t))

    attacker(world, progress)
    estimate = reconstruct(at[0])
    return _grey(estimate, n), estimate > 0.5


def _known(answers: Any, block: int, n: int, t: int) -> Any:
    """The answers from this block on; what is not known yet is taken at its mean."""
    known = answers.copy()
    known[: (block - 1) * t] = n / 4
    known[0] = n / 2  # how many members there are is public
    return known


def _frames(n: int, world: Any, attacker: Callable[..., Any]) -> list[Any]:
    """x̂ after a quarter, a half, … of the blocks."""
    frames: list[Any] = []
    wanted = [round(world.blocks * (1 - share)) + 1 for share in FRAMES]

    def progress(answers: Any, block: int) -> None:
        while len(frames) < len(FRAMES) and block <= wanted[len(frames)]:
            frames.append(_grey(reconstruct(_known(answers, block, n, world.t)), n))

    answers = attacker(world, progress)
    while len(frames) < len(FRAMES):
        frames.append(_grey(reconstruct(answers.copy()), n))
    return frames


def _grey(estimate: Any, n: int) -> Any:
    frame = np.clip(255 * estimate, 0, 255).astype(np.uint8).reshape(sides(n))
    return np.pad(frame, 4, constant_values=128)


def require_writable(path: str, library: str) -> Path:
    """Refuse a picture that cannot be made or written, before the work begins."""
    target = Path(path)
    if target.suffix not in (".png", ".svg", ".html"):
        problem = f"{target.suffix or 'no ending'} is no kind of picture."
        raise BadQuestion(problem, "End it in .png, .svg or .html.")
    if not target.parent.is_dir() or target.is_dir():
        raise BadFile(path, "cannot be written there.", "Choose a folder that exists.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise BadFile(path, "may not be written.", "Choose another place.")
    if importlib.util.find_spec(library) is None:
        raise BadQuestion(
            f"this picture needs {library}.", "Install it with `pip install 'undeleted[plots]'`."
        )
    return target


def save_image(pixels: Any, target: Path) -> None:
    """Grey pixels as PNG, or as a PNG inside SVG or HTML; needs the `plots` extra."""
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


def as_png(pixels: Any) -> str:
    """Grey pixels as a PNG, in base64."""
    from PIL import Image

    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "png", optimize=True)
    return base64.b64encode(data.getvalue()).decode()
