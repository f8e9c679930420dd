"""What is sent and answered.  Nothing is converted: a number in quotes is no number."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from undeleted.curate.receipts import LONGEST


class Sent(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", hide_input_in_errors=True)


class Leaving(Sent):
    """A person's request."""

    receipt: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST, description="The receipt that the person was given, whole."),
    ]


class Left(BaseModel):
    """The answer to a genuine receipt: the same, whether it was fresh, spent, or never of anybody here."""

    certificate: Annotated[
        str, Field(description="A signed certificate (JWT, EdDSA); worth what its receipt is.")
    ]
    data_set: str
    erased_within_seconds: float | None
    genuine: Annotated[bool, Field(description="This data set signed the receipt; else it is a problem.")]


class Publish(Sent):
    """What an operator publishes."""

    spec: Annotated[str, Field(min_length=1, max_length=1_000_000, description="The spec, in TOML.")]
    table: Annotated[
        str, Field(description="The table, in CSV; may be empty if it is published already.")
    ] = ""


class PublishedBody(BaseModel):
    publications: list[str]
    version: int
    spent: float
    left: float


class AnswerBody(BaseModel):
    """One number, or one post, of a publication."""

    name: str
    of: str | None = None
    version: int
    estimate: Any
    low: float | None = None
    high: float | None = None
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
    waiting: Annotated[int, Field(description="Requests that wait for their transaction.")]
    erased_within_seconds: float | None


class Checked(BaseModel):
    whole: bool
    problems: list[str]


class DataSetFace(BaseModel):
    """What anybody may know: with the key, receipts and certificates are checked."""

    data_set: str
    key: dict[str, str]
    erased_within_seconds: float | None


class Stream(BaseModel):
    """How far a bulk deletion has come: so many lines of it are durable."""

    stream: str
    lines: int
    deleted: int
    unknown: int


class Alive(BaseModel):
    status: str
