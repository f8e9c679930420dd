"""A publication's state as rows: a cell a row, as it stands, with the noise that it carries."""

import csv
import io
import json
from typing import Any

import numpy as np

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
from undeleted.curate.mechanisms.grown_range_counts import GrownRangeCounts
from undeleted.curate.mechanisms.noisy_pairs import NoisyPairs


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
    if isinstance(mechanism, GrownBoxes):
        return _boxes(mechanism, release)
    if isinstance(mechanism, NoisyPairs):
        return _pairs(mechanism, release)
    starts = np.array(mechanism.statistic.starts)
    blocks = np.searchsorted(starts, np.arange(release.value.size), side="right") - 1
    return [
        {"block": int(block), "cell": int(cell - starts[block]), "value": int(value)}
        for cell, (block, value) in enumerate(zip(blocks, release.value, strict=True))
    ]


def _boxes(mechanism: GrownBoxes, release: Any) -> list[dict[str, Any]]:
    """A box a row: its path, a bit for every cut; offsets of the leaves."""
    rows, leaf = [], iter(release.offsets)
    names = [f"offset {column.name}" for column in mechanism.over]
    for level, (paths, ends) in enumerate(zip(release.paths, release.leaf, strict=True), start=1):
        for path, count, end in zip(paths, release.counts[level - 1], ends, strict=True):
            offsets = dict(zip(names, map(int, next(leaf)), strict=True)) if end else dict.fromkeys(names)
            rows.append({"level": level, "path": f"{int(path):0{level}b}", "count": int(count), **offsets})
    return rows


def _pairs(mechanism: NoisyPairs, release: Any) -> list[dict[str, Any]]:
    """Items alone, then those pairs that are kept."""
    names = [column.name for column in mechanism.over]
    alone = [{"item": n, "with": None, "count": int(c)} for n, c in zip(names, release.items, strict=True)]
    both = zip(*mechanism.statistic.items_of(release.pairs), release.counts, strict=True)
    return alone + [{"item": names[i], "with": names[j], "count": int(count)} for i, j, count in both]


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
