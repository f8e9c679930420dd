"""Request and response bodies.  Nothing is converted: a number in quotes is not a number."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from undeleted.curate.receipts import LONGEST
from undeleted.foundations.types import Given


class Sent(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)


class LeavingBody(Sent):
    """A person's request."""

    receipt: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST, description="The full receipt that the person was given."),
    ]


class Left(BaseModel):
    """The answer to a genuine receipt: the same if it is new, used, or of a person who was never here."""

    certificate: Annotated[
        str, Field(description="A signed certificate (JWT, EdDSA); check it with its receipt.")
    ]
    data_set: str
    erased_within_seconds: float | None
    genuine: Annotated[bool, Field(description="This data set signed the receipt; if not, it is a problem.")]


class Publish(Sent):
    """What an operator publishes."""

    spec: Annotated[str, Field(min_length=1, max_length=1_000_000, description="The spec, in TOML.")]
    table: Annotated[
        str, Field(description="The table, in CSV; may be empty if it is already published.")
    ] = ""


class ToPredict(Sent):
    """Rows for a model to predict: a value for every feature."""

    rows: Annotated[list[dict[str, str | int | float | bool | None]], Field(min_length=1, max_length=10_000)]


class Prediction(BaseModel):
    """What a model predicts for one row; some models give several numbers, or a probability."""

    row: int
    prediction: Given = None
    probability: float | None = None


class Predicted(BaseModel):
    name: str
    version: int
    predictions: list[Prediction]


class PublishedBody(BaseModel):
    publications: list[str]
    version: int
    spent: float
    left: float


class Arriving(Sent):
    """People who join."""

    table: Annotated[str, Field(min_length=1, description="Their records, in CSV with a header.")]
    skip_existing: Annotated[bool, Field(description="Leave out people who are there already.")] = False


class Arrived(BaseModel):
    """How many people were taken in, and the tick that they wait for."""

    added: int
    there: int
    tick: int
    closes: str | None


class Correcting(Sent):
    """New records of people who are there."""

    table: Annotated[str, Field(min_length=1, description="Their new records, in CSV with a header.")]


class CorrectedBody(BaseModel):
    """How many records were replaced, and the tick that they wait for."""

    corrected: int
    unchanged: int
    unknown: int
    tick: int
    closes: str | None


class TicksBody(BaseModel):
    """How many ticks were closed, and how many have closed in all."""

    closed: int
    ticks: int
    version: int
    next: str | None


class GrowthBody(BaseModel):
    """How far a table has grown, and what hides its leavers."""

    closed: int
    horizon: int
    next: str | None
    max_corrections: int
    leavers: str
    leavers_epsilon: float | None
    leavers_delta: float | None


class AnswerBody(BaseModel):
    """One number, or one post, of a publication."""

    name: str
    of: str | None = None
    labels: Annotated[
        dict[str, str | int | float | bool] | None, Field(description="Of a table: a value for every column.")
    ] = None
    version: int
    estimate: Given
    low: float | str | None = None
    high: float | str | None = None
    confidence: float | None = None


class PublicationBody(BaseModel):
    name: str
    kind: str
    version: int
    answers: list[AnswerBody]
    note: str | None = None


class Publications(BaseModel):
    publications: list[PublicationBody]
    epsilon: float
    delta: float
    spent: float
    left: float


class StatusBody(BaseModel):
    publications: list[str]
    version: int
    epsilon: float
    delta: float
    spent: float
    left: float
    erasure_pending: bool
    held_back: bool
    waiting: Annotated[int, Field(description="Requests waiting for their transaction.")]
    erased_within_seconds: float | None
    ticks: GrowthBody | None = None


class Checked(BaseModel):
    intact: bool
    problems: list[str]
    rule: Annotated[int, Field(description="How values became codes; 2: each one on its own.")]
    unchecked: Annotated[
        list[str], Field(description="What cannot be checked in a store without records: noise, age.")
    ]


class DataSetBody(BaseModel):
    """What is public about a data set; its key checks receipts and certificates."""

    data_set: str
    key: dict[str, str]
    erased_within_seconds: float | None


class Stream(BaseModel):
    """The progress of a bulk deletion: how many of its lines are durable."""

    stream: str
    lines: int
    deleted: int
    unknown: int


class Alive(BaseModel):
    status: str
