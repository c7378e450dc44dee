"""Saved calls of the test console: read, keep, replace, delete."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from controlplane.accounts.projects import project_for
from controlplane.console.frames import BadRequest
from controlplane.console.models import SavedCase
from controlplane.console.reading import parameters, read_inputs
from controlplane.console.tensors import LARGEST_EXACT, TensorError
from controlplane.core import events
from controlplane.core.errors import Conflict, Invalid, NotFound, PayloadTooLarge
from controlplane.deployments.models import Endpoint

MAX_CASE_BYTES = 8 << 20  # of the inputs, and of the expected outputs, as JSON
PROTOCOLS = ("http", "grpc")


class CaseNotFound(NotFound):
    code = "TestCaseNotFound"
    tries = ("`GET /api/v1/test-cases` lists those that are kept.",)


class NameTaken(Conflict):
    code = "NameTaken"
    tries = ("Choose another name, or replace the one that has it.",)


def case_list(
    *, q: str = "", model: str = "", endpoint: str = "", project: str = ""
) -> QuerySet[SavedCase]:
    rows = SavedCase.objects.all()
    if project:
        rows = rows.filter(project=project)
    if q:
        rows = rows.filter(name__icontains=q)
    if model:
        rows = rows.filter(model=model)
    if endpoint:
        rows = rows.filter(endpoint=endpoint)
    return rows


def case_get(case_id: str) -> SavedCase:
    """Raises CaseNotFound."""
    row = SavedCase.objects.filter(pk=case_id).first()
    if row is None:
        raise CaseNotFound(
            f"No test case has the id {case_id!r}.", hints=("It may have been deleted.",)
        )
    return row


def case_save(
    *,
    name: str,
    description: str,
    model: str,
    endpoint: str,
    inputs: Sequence[dict[str, Any]],
    options: dict[str, Any],
    expected: Sequence[dict[str, Any]],
    tolerance: dict[str, float],
    actor: str,
    replace: SavedCase | None = None,
) -> SavedCase:
    """A new case, in the project of its endpoint, or other content for ``replace``.

    Raises Invalid, PayloadTooLarge, NameTaken with the ``id`` of the case that has the name.
    """
    _check_tensors("inputs", inputs)
    _check_tensors("expected", expected)
    _check_options(options)
    row = replace or SavedCase(id=uuid4().hex, project_id=_project_of(endpoint), created_by=actor)
    row.name, row.description, row.model, row.endpoint = name, description, model, endpoint
    row.inputs, row.options = [_exact(tensor) for tensor in inputs], options
    row.expected, row.tolerance = [_exact(tensor) for tensor in expected], tolerance
    try:
        with transaction.atomic():
            row.save()
            events.record(
                actor=actor,
                verb="test_case.changed" if replace else "test_case.saved",
                subject=f"test-case/{row.id}",
                message=f"Test case {name!r} of {model} {'changed' if replace else 'saved'}",
                data={"model": model, "endpoint": endpoint},
            )
    except IntegrityError as error:
        same = SavedCase.objects.filter(project=row.project_id, model=model, name=name)
        taken = same.exclude(pk=row.id).first()
        if taken is None:
            raise
        raise NameTaken(
            f"{model} has a test case called {name!r} already.",
            field="name",
            hints=("Choose another name, or replace that one.",),
            extra={"id": taken.id},
        ) from error
    return row


def _project_of(endpoint: str) -> str:
    """Of a case without an endpoint, or with one that is gone: as of whatever is new."""
    known = Endpoint.objects.filter(name=endpoint).values_list("project_id", flat=True).first()
    return known or project_for("")


@transaction.atomic
def case_delete(*, case_id: str, actor: str) -> None:
    """Raises CaseNotFound."""
    row = case_get(case_id)
    row.delete()
    events.record(
        actor=actor,
        verb="test_case.deleted",
        subject=f"test-case/{case_id}",
        message=f"Test case {row.name!r} of {row.model} deleted",
        data={"model": row.model, "endpoint": row.endpoint},
    )


def _exact(tensor: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers beyond what a browser holds as text, so that it reads them to the digit."""
    data = tensor["data"]
    if not isinstance(data, list):
        return tensor
    return {
        **tensor,
        "data": [
            str(value) if type(value) is int and abs(value) > LARGEST_EXACT else value
            for value in data
        ],
    }


def _check_tensors(field: str, tensors: Sequence[dict[str, Any]]) -> None:
    size = len(json.dumps(tensors))
    if size > MAX_CASE_BYTES:
        raise PayloadTooLarge(
            f"`{field}` takes {size / 2**20:.1f} MiB; a test case holds {MAX_CASE_BYTES >> 20}.",
            field=field,
        )
    try:
        read_inputs(list(tensors))
    except TensorError as error:
        raise Invalid(str(error), field=field) from error


def _check_options(options: dict[str, Any]) -> None:
    if options.get("protocol", "http") not in PROTOCOLS:
        raise Invalid(
            f"{options['protocol']!r} is not one of {', '.join(PROTOCOLS)}.",
            field="options.protocol",
        )
    try:
        parameters(options)
    except BadRequest as error:
        raise Invalid(str(error), field="options") from error
