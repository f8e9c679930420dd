"""Generated people with every kind of column, and every mechanism on them, in a store of any kind."""

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import (
    BulletinBoard,
    GrownBoxes,
    GrownRangeCounts,
    NoisyCount,
    NoisyForest,
    NoisyHistogram,
    NoisyMean,
    NoisyPairs,
    NoisyProducts,
    RangeCounts,
)
from undeleted.curate.stores import Publishing, create_store
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Number, Schema, Text

AGE = Number("age", min=0, max=120)
INCOME = Number("income", min=0, max=2**40, missing="drop")
CITY = Category("city", values=("Haifa", "Chicago", "Washington"))
SICK, TALL, RICH = Boolean("sick"), Boolean("tall"), Boolean("rich")
NOTE = Text("note")
UNUSED = Number("unused", min=0, max=2**32)
PEOPLE = Schema([AGE, INCOME, CITY, SICK, TALL, RICH, NOTE, UNUSED], id="id", rows_per_person=2)
N = 300


def mechanisms():
    share = Budget(0.5)
    return {
        "people": NoisyCount(share, rows_per_person=2),
        "age": NoisyMean(AGE, share, rows_per_person=2),
        "ages": RangeCounts(AGE, share, rows_per_person=2),
        "incomes": GrownRangeCounts(INCOME, share, rows_per_person=2),
        "table": NoisyHistogram((CITY, SICK), share, rows_per_person=2),
        "both": NoisyProducts((AGE, SICK), share, rows_per_person=2),
        "forest": NoisyForest((AGE, CITY), share, by=SICK, trees=3, depth=3, rows_per_person=2),
        "boxes": GrownBoxes((AGE, INCOME), share, clusters=2, rows_per_person=2),
        "pairs": NoisyPairs((SICK, TALL, RICH), share, at_most=2, rows_per_person=2),
        "notes": BulletinBoard(NOTE),
    }


def rows(n=N):
    """People p0, p1, …; every tenth has two rows."""
    people = [i for i in range(n) for _ in range(1 + (i % 10 == 0))]
    return {
        "id": [f"p{i}" for i in people],
        "age": [i % 100 for i in people],
        "income": [None if i % 7 == 0 else i * 10**6 for i in people],
        "city": [CITY.values[i % 3] for i in people],
        "sick": [i % 4 == 0 for i in people],
        "tall": [i % 2 == 0 for i in people],
        "rich": [i % 3 == 0 for i in people],
        "note": [f"note of {i}, number {k}" for k, i in enumerate(people)],
        "unused": [4_000_000_000 + i for i in people],
    }


def made(path, data, seed="noise"):
    """Create a store with seeded noise: the same seed draws the same noise."""
    table = PEOPLE.table(data)
    releases = {name: m.release(Arrays(table), seeded(f"{seed} {name}")) for name, m in mechanisms().items()}
    facts = {"epsilon": 4.0, "delta": 0.0, "spent": 3.0, "left": 1.0}
    return create_store(str(path), Publishing(PEOPLE, mechanisms(), releases, table, facts))


def only(data, keep):
    chosen = [i for i, person in enumerate(data["id"]) if keep(person)]
    return {name: [values[i] for i in chosen] for name, values in data.items()}
