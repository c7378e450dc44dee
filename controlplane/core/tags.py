"""Rows by their tags."""

from collections.abc import Mapping
from typing import TypeVar

from django.db.models import Model, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

RowT = TypeVar("RowT", bound=Model)


def tagged(rows: QuerySet[RowT], tags: Mapping[str, str]) -> QuerySet[RowT]:
    """Those whose ``tags`` have all of these, to the letter."""
    for index, (key, value) in enumerate(sorted(tags.items())):
        rows = rows.annotate(**{f"tag{index}": Cast(KeyTextTransform(key, "tags"), TextField())})
        rows = rows.filter(**{f"tag{index}": value})
    return rows
