"""A store that keeps no records, with the receipts that were written for it; its noise is seeded."""

import json

from support.people import PEOPLE, mechanisms
from undeleted.curate.destinations import ToCallback
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.issuing import IssuingReceipts
from undeleted.curate.receipts import Receipt, issuer_of
from undeleted.curate.stores import Publishing, create_store
from undeleted.foundations.coins import seeded

CAPACITY = 1000


def published_mechanisms():
    """Everything but the board, whose posts need records."""
    return {name: m for name, m in mechanisms().items() if name != "notes"}


def publishing(data, sink, *, seed="noise", schema=PEOPLE, published=None, capacity=CAPACITY):
    """What such a store is made of; `sink` gets each receipt as a line of JSON."""
    table = schema.table(data)
    published = published_mechanisms() if published is None else published
    releases = {name: m.release(Arrays(table), seeded(f"{seed} {name}")) for name, m in published.items()}
    facts = {"epsilon": 4.0, "delta": 0.0, "spent": 3.0, "left": 1.0}
    facts |= {"retain": "receipts", "capacity": capacity}
    issue = IssuingReceipts(ToCallback(sink), capacity)
    return Publishing(schema, published, releases, table, facts, issue=issue)


def made(place, data, **settings):
    """The store, and everybody's receipt by id."""
    lines: list[str] = []
    store = create_store(str(place), publishing(data, lines.append, **settings))
    return store, by_person(lines)


def by_person(lines):
    given = [json.loads(line) for line in lines]
    receipts = {line["person"]: line["receipt"] for line in given}
    assert len(receipts) == len(given), "one receipt for each person"
    return receipts


def claims(store, receipts, people):
    """What the receipts of these people carry."""
    issuer = issuer_of(store)
    inside = [issuer.inside(Receipt.parse(receipts[person])) for person in people]
    assert all(claim is not None for claim in inside)
    return inside
