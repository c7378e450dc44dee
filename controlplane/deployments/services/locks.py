"""Rows held until the transaction ends, always in the same order.

Whoever changes an endpoint's operations, deployments or replicas holds the endpoint first; of
several endpoints, the one with the smaller key first. Two that took these rows in different orders
would wait for each other, and PostgreSQL would end one of them with an error.
"""

from collections.abc import Iterable

from controlplane.deployments.models import Endpoint


def endpoint_lock(name: str) -> Endpoint | None:
    """The endpoint called ``name``, or None."""
    return Endpoint.objects.select_for_update(no_key=True).filter(name=name).first()


def endpoint_hold(name: str) -> None:
    """The same, for who does not look at it."""
    rows = Endpoint.objects.select_for_update(no_key=True).filter(name=name)
    list(rows.values_list("pk"))


def endpoints_lock(endpoint_ids: Iterable[int]) -> None:
    """Those of ``endpoint_ids`` that exist. Without any it asks nothing."""
    if ids := set(endpoint_ids):
        rows = Endpoint.objects.select_for_update(no_key=True).filter(pk__in=ids)
        list(rows.order_by("pk").values_list("pk"))
