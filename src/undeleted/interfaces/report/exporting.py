"""Answers, or the noisy cells of a current state, as a file: JSON, CSV, Parquet or Arrow.

The command line and the service write the same bytes.
"""

import csv
import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from undeleted.curate.answers import answers, as_arrow, in_order, rows
from undeleted.curate.curator import Publication
from undeleted.errors import BadSetting
from undeleted.foundations.types import Given, Json

if TYPE_CHECKING:
    import pyarrow as pa

FORMS = {
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}


def exported(
    publications: Mapping[str, Publication],
    form: str,
    *,
    cells: bool = False,
    confidence: float = 0.95,
    asked: Mapping[str, Given] | None = None,
) -> bytes:
    """Publications as one table: labels, estimate, low, high, confidence, version; or the cells of one."""
    if cells:
        if len(publications) > 1:
            raise BadSetting("cells of several publications are no table.", "Name one publication.")
        [(name, one)] = publications.items()
        return written(name, one.version, one.mechanism.rows(one.release), form)
    table = [
        row
        for name, p in publications.items()
        for row in rows(name, p.version, answers(p.mechanism, p.release, asked or {}, confidence), confidence)
    ]
    version = max((p.version for p in publications.values()), default=0)
    names = in_order(table)
    complete = [{name: row.get(name) for name in names} for row in table]
    return written(", ".join(publications), version, complete, form, "answers")


def written(name: str, version: int, rows: list[Json], form: str, what: str = "cells") -> bytes:
    """Serialise the rows, with the publication's name and version."""
    if form == "json":
        body = {"format": "undeleted-export", "name": name, "version": version, what: rows}
        return (json.dumps(body, indent=1, ensure_ascii=False, default=str) + "\n").encode()
    columns = in_order(rows) if rows else ["value"]
    if form == "csv":
        text = io.StringIO()
        about = {"name": name, "version": version} if what == "cells" else {}
        writer = csv.DictWriter(text, [*about, *columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**about, **{k: _whole(v) for k, v in row.items()}} for row in rows)
        return text.getvalue().encode()
    import pyarrow as pa

    table = as_arrow(rows) if rows else pa.table({"value": []})
    return of_table(table.replace_schema_metadata({"name": name, "version": str(version)}), form)


def of_table(table: "pa.Table", form: str) -> bytes:
    """Serialise an Arrow table; JSON as a list of rows."""
    import pyarrow.csv
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    if form == "json":
        return (json.dumps(table.to_pylist(), ensure_ascii=False, default=str) + "\n").encode()
    buffer = io.BytesIO()
    if form == "csv":
        pyarrow.csv.write_csv(table, buffer)
    elif form == "parquet":
        pq.write_table(table, buffer)
    else:
        feather.write_feather(table, buffer, compression="uncompressed")
    return buffer.getvalue()


def _whole(value: Given) -> Given:
    """A count as people write it: 27, not 27.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
