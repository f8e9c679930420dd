"""Shared by the benchmarks: options, JSON with facts about the machine, claims, pictures.

Every script prints a table, writes `benchmarks/out/NAME.json` (and sometimes a picture), and exits
with 1 if a claim fails.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"


class Bench:
    """One benchmark: its figures, and the claims that they must support."""

    def __init__(
        self,
        name: str,
        about: str,
        *,
        seeds: int,
        options: Callable[[argparse.ArgumentParser], Any] | None = None,
    ) -> None:
        self.name = name
        parser = argparse.ArgumentParser(description=about)
        parser.add_argument("--seeds", type=int, default=seeds, help=f"how many runs (default {seeds})")
        parser.add_argument("--out", type=Path, default=OUT, help="where to write JSON and pictures")
        if options is not None:
            options(parser)
        self.options = parser.parse_args()
        self.seeds: int = self.options.seeds
        self.out: Path = self.options.out
        self.rows: list[dict[str, Any]] = []
        self.claims: list[dict[str, Any]] = []

    def row(self, **figures: Any) -> None:
        """Print a row of figures and store it."""
        self.rows.append(figures)
        print("  ".join(f"{key} {_short(value)}" for key, value in figures.items()), flush=True)

    def claim(self, text: str, holds: bool, **figures: Any) -> None:
        """Store a claim; the benchmark fails if it does not hold."""
        self.claims.append({"claim": text, "holds": bool(holds), **figures})
        facts = "  ".join(f"{key} {_short(value)}" for key, value in figures.items())
        print(f"{'holds ' if holds else 'MISSED'}  {text}   {facts}", flush=True)

    def picture(self, chart: Any) -> None:
        """Save an Altair chart as SVG beside the JSON."""
        self.out.mkdir(parents=True, exist_ok=True)
        chart.save(self.out / f"{self.name}.svg")

    def finish(self) -> None:
        """Write the JSON file; exit with 1 if a claim was missed."""
        self.out.mkdir(parents=True, exist_ok=True)
        machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
        body = {"benchmark": self.name, "seeds": self.seeds, "machine": machine}
        body |= {"rows": self.rows, "claims": self.claims}
        path = self.out / f"{self.name}.json"
        path.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        sys.exit(0 if all(claim["holds"] for claim in self.claims) else 1)


def _short(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
