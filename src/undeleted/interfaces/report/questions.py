"""A publication's answers for the terminal and the API: all numbers, one question, or rows to predict."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby

from undeleted.curate import files
from undeleted.curate.answers import LAST, answers, features_of, predictions, rows
from undeleted.curate.publications import kinds
from undeleted.errors import BadFile, BadQuestion
from undeleted.foundations.digits import in_digits
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.report.result import plain, table


def width_note(kind: str) -> str:
    """Say how the intervals of a kind of publication change as people leave."""
    if kind in kinds() and kinds()[kind][0][1].steady:
        return "deletions do not widen it"
    return "it grows as fewer people remain, because the noise stays the same"


MOST_SHOWN = 2000  # answers of one publication


def shown(
    name: str, publication: Given, asked: Mapping[str, Given], confidence: float = 0.95
) -> Iterator[Json]:
    """Yield every answer with its interval; an infinite end becomes null."""
    answered = answers(publication.mechanism, publication.release, asked, confidence)
    for number, row in enumerate(rows(name, publication.version, answered, confidence)):
        if number == MOST_SHOWN:
            problem = f"{name!r} has more than {MOST_SHOWN:,} answers."
            raise BadQuestion(problem, "Export them: undeleted export NAME --format csv.")
        labels = {key: value for key, value in row.items() if key not in ("publication", *LAST)}
        text = ", ".join(str(v) if key == "of" else f"{key} = {v}" for key, v in labels.items())
        yield {
            "name": name,
            **({"of": text} if text else {}),
            **({"labels": {k: as_json(v) for k, v in labels.items()}} if labels.keys() - {"of"} else {}),
            **{key: as_json(row[key]) for key in ("version", "estimate", "low", "high", "confidence")},
        }


def as_json(value: Given) -> Given:
    """A value as JSON has it: dates as text."""
    return str(value) if isinstance(value, date) else value


def predicted(publication: Given, source: str) -> list[Json]:
    """Return a prediction for every row of a file, from the current release."""
    schema = features_of(publication)
    try:
        table = files.read(source, schema)
    except BadFile as error:
        remedy = error.remedy.replace("`source` in the spec", "the path")
        raise BadFile(source, error.problem, remedy) from None
    return predictions(publication, table)


def answers_as_text(answers: Sequence[Json]) -> str:
    """Answers for people: a line each, or a table with a column for every label."""
    blocks = []
    for labels, several in groupby(answers, key=_table_of):
        rows = list(several)
        if labels is None:
            blocks.append(table([[_line_label(answer), _interval(answer)] for answer in rows]))
            continue
        body = [["", *(plain(str(value)) for value in a["labels"].values()), _interval(a)] for a in rows]
        blocks.append(table([[plain(str(label)) for label in labels], *body]))
    return "\n".join(blocks)


def _table_of(answer: Json) -> tuple[str, ...] | None:
    """The name and the columns of the table that an answer belongs to; none if it stands alone."""
    return (answer["name"], *answer["labels"]) if "labels" in answer else None


def _line_label(answer: Json) -> str:
    return plain(str(answer["name"]) + (f", {answer['of']}" if "of" in answer else ""))


def _interval(answer: Json) -> str:
    if answer["confidence"] is None:
        return f"{plain(str(answer['estimate']))}   v{answer['version']}"
    ends = {"estimate": "unknown", "low": "−∞", "high": "∞"}
    value, low, high = (
        ends[k] if v is None else v if isinstance(v, str) else in_digits(v)
        for k, v in ((k, answer[k]) for k in ends)
    )
    return f"{value}   [{low}, {high}] at {answer['confidence']:.0%}   v{answer['version']}"
