"""Shared by the pages: the stored results, number formatting, and a table by deletions."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "docs" / "results"
NOISE = {0.0: "ε = 1", 1e-6: "ε = 1, δ = 1e-6"}


def result(name: str) -> Any:
    """Return the stored output of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def number(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def table(rows: list[dict[str, Any]], value: str, methods: list[str]) -> list[str]:
    """One line per number of deletions, one column per method and noise."""
    columns = [
        (m, d) for m in methods for d in NOISE if any((r["method"], r["delta"]) == (m, d) for r in rows)
    ]
    cells = {(r["method"], r["delta"], r["k"]): r[value] for r in rows}
    lines = ["| deletions | " + " | ".join(f"{m}, {NOISE[d]}" for m, d in columns) + " |"]
    lines.append("|---:" * (len(columns) + 1) + "|")
    for k in sorted({r["k"] for r in rows}):
        lines.append(f"| {k:,} | " + " | ".join(number(cells[m, d, k]) for m, d in columns) + " |")
    return [*lines, ""]
