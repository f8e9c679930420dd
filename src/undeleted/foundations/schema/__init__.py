"""Schemas of records: columns with public bounds, an integer grid, and rules for values that do not fit."""

from undeleted.foundations.schema.columns import Boolean, Category, Column, GridColumn, Number, Text
from undeleted.foundations.schema.dates import Date
from undeleted.foundations.schema.schema import Schema
from undeleted.foundations.schema.table import Leaving, Record, Table
from undeleted.foundations.schema.values import as_text

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Date",
    "GridColumn",
    "Leaving",
    "Number",
    "Record",
    "Schema",
    "Table",
    "Text",
    "as_text",
]
