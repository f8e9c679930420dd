"""A publication's state as rows: a cell a row, as it stands, with the noise that it carries."""

import csv
import io
import json
from typing import Any

import numpy as np

from undeleted.mechanisms.bulletin_board import BulletinBoard
from undeleted.mechanisms.grown_range_counts import GrownRangeCounts


def table_of(publication: Any) -> list[dict[str, Any]]:
    """The cells in their order; a board's posts."""
    mechanism, release = publication.mechanism, publication.release
    if isinstance(mechanism, BulletinBoard):
        return [{"post": post} for post in release]
    if isinstance(mechanism, GrownRangeCounts):
        levels = zip(release.prefixes, release.counts, strict=True)
        return [
            {"level": level, "prefix": int(prefix), "count": int(count)}
            for level, (prefixes, counts) in enumerate(levels, start=1)
            for prefix, count in zip(prefixes, counts, strict=True)
        ]
    starts = np.array(mechanism.statistic.starts)
    blocks = np.searchsorted(starts, np.arange(release.value.size), side="right") - 1
    return [
        {"block": int(block), "cell": int(cell - starts[block]), "value": int(value)}
        for cell, (block, value) in enumerate(zip(blocks, release.value, strict=True))
    ]


def written(name: str, version: int, rows: list[dict[str, Any]], form: str) -> bytes:
    """The rows in one of three forms; each carries the name and the version."""
    if form == "json":
        body = {"format": "undeleted-export", "name": name, "version": version, "cells": rows}
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()
    columns = list(rows[0]) if rows else ["value"]
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, ["name", "version", *columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows({"name": name, "version": version, **row} for row in rows)
        return text.getvalue().encode()
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({c: [row[c] for row in rows] for c in columns})
    table = table.replace_schema_metadata({"name": name, "version": str(version)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
