"""A publication's state as rows: a cell a row, as it stands, with the noise that it carries."""

import csv
import io
import json
from typing import Any


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
