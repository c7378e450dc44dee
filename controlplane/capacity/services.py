"""Prices: set as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from controlplane.capacity.models import THE_ONE, Prices
from controlplane.core import events
from controlplane.core.errors import Invalid
from controlplane.deployments.selectors.instance_types import instance_type_list, match


@transaction.atomic
def prices_set(
    *,
    currency: str,
    instance_types: Mapping[str, float],
    nodes: Mapping[str, float],
    labels: Sequence[Mapping[str, Any]],
    actor: str,
) -> Prices:
    """Raises Invalid for an unknown instance type, and for prices without a currency."""
    if (instance_types or nodes or labels) and not currency.strip():
        raise Invalid(
            "currency: it is empty, expected a text such as EUR beside the prices.",
            field="currency",
        )
    row = Prices.objects.select_for_update().filter(pk=THE_ONE).first() or Prices()
    before = told(row)
    row.currency = currency.strip()
    row.instance_types = _by_type(instance_types)
    row.nodes = dict(sorted(nodes.items()))
    row.labels = [dict(one) for one in labels]
    if told(row) != before:
        row.save()
        events.record(
            actor=actor,
            verb="prices.changed",
            subject="prices",
            message="Prices were changed",
            before=before,
            after=told(row),
        )
    return row


def _by_type(prices: Mapping[str, float]) -> dict[str, float]:
    """Under the types' own names, whichever of their names was said."""
    known = list(instance_type_list())
    found: dict[str, float] = {}
    for name, price in prices.items():
        row = match(name, known)
        if row is None:
            raise Invalid(
                f"instance_types: {name!r} is no instance type.",
                field="instance_types",
                hints=(f"There are {', '.join(one.name for one in known) or 'none yet'}.",),
            )
        if row.name in found:
            raise Invalid(
                f"instance_types: {name!r} is another name of {row.name}, which has a price here "
                "already; expected one price for each.",
                field="instance_types",
            )
        found[row.name] = price
    return dict(sorted(found.items()))


def told(row: Prices) -> dict[str, Any]:
    return {
        "currency": row.currency,
        "instance_types": row.instance_types,
        "nodes": row.nodes,
        "labels": row.labels,
    }
