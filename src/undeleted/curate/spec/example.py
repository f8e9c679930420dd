"""An example spec, and its table of synthetic people."""

import csv
from pathlib import Path

from undeleted.foundations.types import Given

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


def write_people(path: Path, seed: int, many: int = MANY) -> None:
    """Write a table of synthetic people."""
    import numpy as np

    rng = np.random.default_rng(abs(seed))
    ages = np.clip(rng.normal(44, 16, many), 0, 120).astype(int)
    incomes = np.clip(rng.lognormal(10.6, 0.6, many), 0, 200_000).astype(int) // 1000 * 1000
    cities = rng.choice(["Chicago", "Haifa", "Washington"], many, p=[0.5, 0.2, 0.3])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: Given = csv.writer(file)
        writer.writerow(["person", "age", "income", "city"])
        writer.writerows(
            (f"p{i:05d}", a, m, c) for i, (a, m, c) in enumerate(zip(ages, incomes, cities, strict=True))
        )
