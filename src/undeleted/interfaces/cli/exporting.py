"""Export a publication: its answers, or the noisy cells of its current state; one row each."""

import csv
import io
import json

from undeleted.foundations.types import Json


def written(name: str, version: int, rows: list[Json], form: str, what: str = "cells") -> bytes:
    """Serialise the rows as JSON, CSV or Parquet, with the publication's name and version."""
    if form == "json":
        body = {"format": "undeleted-export", "name": name, "version": version, what: rows}
        return (json.dumps(body, indent=1, ensure_ascii=False, default=str) + "\n").encode()
    columns = list(rows[0]) if rows else ["value"]
    if form == "csv":
        text = io.StringIO()
        about = {"name": name, "version": version} if what == "cells" else {}
        writer = csv.DictWriter(text, [*about, *columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**about, **row} for row in rows)
        return text.getvalue().encode()
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({c: [row[c] for row in rows] for c in columns})
    table = table.replace_schema_metadata({"name": name, "version": str(version)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
