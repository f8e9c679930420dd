"""The demo's last scene: a table in a file, published, shown, deleted from, checked; the folder goes away."""

import csv
import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

MANY = 100_000
SPEC = """[data]
source = "people.csv"
id = "person"

[budget]
epsilon = 1.0

[columns.age]
type = "number"
min = 0
max = 120

[columns.income]
type = "number"
min = 0
max = 200000
step = 1000

[columns.city]
type = "category"
values = ["Chicago", "Haifa", "Washington"]

[publish.people]
kind = "count"

[publish."mean income"]
kind = "mean"
column = "income"

[publish.ages]
kind = "quantiles"
column = "age"

[publish.cities]
kind = "histogram"
columns = ["city"]
"""


def daily_use(seed: int) -> list[tuple[str, str]]:
    """Every command with what it printed; noise is secure, so the numbers differ from run to run."""
    from undeleted.cli import run

    said = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder / "people.csv", seed)
        (folder / "spec.toml").write_text(SPEC, encoding="utf-8")
        (folder / "leavers.txt").write_text(
            "".join(f"p{i:05d}\n" for i in range(0, MANY, 100)), encoding="utf-8"
        )
        store = ["--store", str(folder / "undeleted.db")]
        for shown, arguments in (
            (
                "init people.csv --out draft.toml",
                ["init", str(folder / "people.csv"), "--out", str(folder / "draft.toml")],
            ),
            ("publish spec.toml", ["publish", str(folder / "spec.toml"), *store]),
            ("show", ["show", *store]),
            ("delete --from leavers.txt", ["delete", "--from", str(folder / "leavers.txt"), *store]),
            ("show", ["show", *store]),
            ("status", ["status", *store]),
            ("check", ["check", *store]),
        ):
            printed = io.StringIO()
            with redirect_stdout(printed):
                code = run(arguments)
            assert code == 0, (shown, code)
            said.append((f"undeleted {shown}", printed.getvalue().replace(f"{folder}/", "")))
    return said


def write_people(path: Path, seed: int) -> None:
    """A table of people that never were."""
    import numpy as np

    rng = np.random.default_rng(abs(seed))
    ages = np.clip(rng.normal(44, 16, MANY), 0, 120).astype(int)
    incomes = np.clip(rng.lognormal(10.6, 0.6, MANY), 0, 200_000).astype(int) // 1000 * 1000
    cities = rng.choice(["Chicago", "Haifa", "Washington"], MANY, p=[0.5, 0.2, 0.3])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: Any = csv.writer(file)
        writer.writerow(["person", "age", "income", "city"])
        writer.writerows(
            (f"p{i:05d}", a, m, c) for i, (a, m, c) in enumerate(zip(ages, incomes, cities, strict=True))
        )
