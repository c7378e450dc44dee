"""Follows long-running operations to their end."""

from collections.abc import Callable
from typing import cast

from shoal.client.errors import (
    OperationFailed,
    WaitInterrupted,
    WaitTimeout,
    problem_arguments,
)
from shoal.client.transport import Transport
from shoal.client.types import Operation

FINISHED = frozenset({"Succeeded", "Failed", "Canceled"})
_POLL_S = 0.4

OnOperation = Callable[[Operation], None]


def wait(
    transport: Transport,
    operation: Operation,
    *,
    timeout_s: float,
    on_change: OnOperation | None = None,
) -> Operation:
    """The operation, Succeeded. Raises OperationFailed, WaitTimeout, WaitInterrupted.

    It polls rather than holding one long request, so that a stage shows within half a second and a
    restart of the studio costs nothing.
    """
    try:
        operation = _finished(transport, operation, timeout_s, on_change)
    except KeyboardInterrupt as error:
        raise WaitInterrupted(operation["id"]) from error
    if operation["state"] != "Succeeded":
        subject = "/".join(filter(None, (operation["endpoint"], operation["deployment"])))
        fallback = f"{operation['kind']} of {subject}: {operation['state'].lower()}"
        arguments = problem_arguments(operation.get("error"), fallback=fallback)
        raise OperationFailed(operation=operation["id"], **arguments)
    return operation


def _finished(
    transport: Transport, operation: Operation, timeout_s: float, on_change: OnOperation | None
) -> Operation:
    give_up, last = transport.clock() + timeout_s, None
    while True:
        if on_change and operation != last:
            on_change(operation)
        if operation["state"] in FINISHED:
            return operation
        if transport.clock() > give_up:
            raise WaitTimeout(
                "Still running when the time was up; it goes on",
                f"operation {operation['id']} after {timeout_s:.0f} s: {_current(operation)}",
                [
                    f"Look again: `shoal operation show {operation['id']}`.",
                    f"Stop it: `shoal operation cancel {operation['id']}`.",
                    "Wait longer: --timeout SECONDS.",
                ],
            )
        last = operation
        transport.pause(_POLL_S)
        operation = cast(Operation, transport.json("GET", f"/operations/{operation['id']}"))


def _current(operation: Operation) -> str:
    for stage in operation["stages"]:
        if stage["status"] == "running":
            return f"{stage['title']} {stage['detail'] or ''}".strip()
    return operation["state"]


def rollout_refused(operation: Operation) -> str | None:
    """Why the rollout that was asked for with a deployment has not begun; None unless it has
    ended so."""
    for stage in operation["stages"]:
        if stage["name"] == "rollout" and operation["state"] == "Succeeded":
            return stage["detail"] if stage["status"] == "failed" else None
    return None
