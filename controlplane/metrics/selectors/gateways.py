"""Reads of what gateways counted, in the order in which it came."""

import math
from collections.abc import Collection
from typing import Any

from django.db.models import Max

from controlplane.metrics.models import GatewaySample


def gateway_samples_newest() -> int:
    """Key of the newest sample of all; 0 without any."""
    return GatewaySample.objects.aggregate(newest=Max("id"))["newest"] or 0


def gateway_samples_after(endpoint: str, key: int, most: int) -> tuple[list[Any], int]:
    """The next samples of ``endpoint`` (``wire.samples.GatewaySample`` as parsed), and the key of
    the last of them.

    Of several gateways that report in the same moment one may commit later than its keys say, and
    is left out then: with all that it counted, of whatever deployment.
    """
    rows = GatewaySample.objects.filter(endpoint=endpoint, id__gt=key).order_by("id")
    found = list(rows.values_list("id", "data")[:most])
    return [data for _, data in found], found[-1][0] if found else key


def gateway_samples_since(
    endpoint: str, deployments: Collection[str], since: float, until: float = math.inf
) -> list[Any]:
    """Of these deployments, ``wire.samples.GatewaySample`` as parsed."""
    rows = GatewaySample.objects.filter(endpoint=endpoint, deployment__in=deployments, at__gt=since)
    if until < math.inf:
        rows = rows.filter(at__lte=until)
    return list(rows.values_list("data", flat=True))
