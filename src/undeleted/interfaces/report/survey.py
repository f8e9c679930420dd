"""The survey of definitions as one HTML page: a table whose cells link to their witnesses."""

import json
from collections.abc import Sequence

from undeleted.foundations.types import Json
from undeleted.interfaces.report._page import page as full_page
from undeleted.paper.specimens import specimens
from undeleted.paper.survey_table import Cell, about


def page(cells: Sequence[Cell]) -> str:
    """Return the page; it makes no network request."""
    columns = dict.fromkeys(cell.specimen for cell in cells)
    rows: dict[str, list[Json]] = {}
    for cell in cells:
        rows.setdefault(cell.definition, []).append(_cell(cell))
    decided = [cell for cell in cells if cell.agrees is not None]
    known = specimens()
    return full_page(
        "survey.html",
        curators=[{"name": name, "about": known[name].about} for name in columns],
        rows=[{"name": name, "cells": row, "about": about(name)} for name, row in rows.items()],
        agreed=sum(bool(cell.agrees) for cell in decided),
        decided=len(decided),
    )


def _cell(cell: Cell) -> Json:
    words = {True: "yes", False: "no", None: ""}
    return {
        "id": f"{cell.definition}--{cell.specimen}",
        "curator": cell.specimen,
        "word": words[cell.answer.holds],
        "paper": words[cell.claim],
        "differs": cell.agrees is False,
        "measure": cell.answer.measure,
        "distance": "infinite" if cell.answer.distance is None else str(cell.answer.distance),
        "note": cell.answer.note,
        "witness": json.dumps(cell.answer.witness, indent=1, ensure_ascii=False),
    }
