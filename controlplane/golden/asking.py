"""Golden cases asked of one deployment, one after the other, through the gateway. No rows here."""

import asyncio
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Final

import httpx

from answers import Array, Difference, Tolerance, array, differences
from controlplane.console.inference import Call, InferenceFailed, Target, infer_http
from controlplane.console.tensors import Tensor
from controlplane.metrics.selectors import own_requests_key
from wire.own_requests import COMPARISON, signed_id

CASE_S: Final = 10.0  # that one case may take
# What says nothing of the answer: time-outs, refused keys, rate limits, no replica.
SILENT: Final = frozenset({401, 403, 408, 429, 502, 503, 504})


class Status(StrEnum):
    """``REFUSED``: the deployment answered, and no tensors; ``UNANSWERED``: nothing is known."""

    PASSED = "passed"
    DIFFERS = "differs"
    REFUSED = "refused"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Case:
    """``expected``: name -> datatype and values."""

    id: str
    name: str
    call: Call
    expected: dict[str, tuple[str, Array]]
    tolerance: Tolerance
    by_class: bool = False  # of scores of classes the best one counts


@dataclass(frozen=True, slots=True)
class Outcome:
    """``text``: why it has not passed, a part of a sentence. ``outputs``: what was answered."""

    id: str
    case: str
    model: str
    status: Status
    seconds: float
    differences: tuple[Difference, ...] = ()
    text: str = ""
    outputs: tuple[Tensor, ...] = ()
    code: int = 0  # HTTP's, where it was refused or not answered

    @property
    def wrong(self) -> bool:
        return self.status in (Status.DIFFERS, Status.REFUSED)


@cache
def _authorities() -> ssl.SSLContext:
    """Of this machine. Read once: it takes 30 ms."""
    return httpx.create_ssl_context(trust_env=False)


Caller = Callable[[Target, Case, float], Outcome]  # the last is for how many seconds it waits


@contextmanager
def caller() -> Iterator[Caller]:
    """What asks one case after the other, over the same connections."""
    with asyncio.Runner() as runner:
        client = httpx.AsyncClient(trust_env=False, verify=_authorities())
        try:
            yield lambda target, case, timeout_s: runner.run(
                _asked(client, target, case, timeout_s)
            )
        finally:
            runner.run(client.aclose())


def ask(target: Target, cases: Iterable[Case], *, within_s: float) -> Iterator[Outcome]:
    """In their order, none before it is wanted. After ``within_s`` no further one is asked."""
    until = time.monotonic() + within_s
    with caller() as call:
        for case in cases:
            left = until - time.monotonic()
            if left <= 0:
                text = f"it was not asked: all cases may take {within_s:.0f} s"
                yield _outcome(case, Status.UNANSWERED, time.monotonic(), text=text)
            else:
                yield call(target, case, min(left, CASE_S))


async def _asked(
    client: httpx.AsyncClient, target: Target, case: Case, timeout_s: float
) -> Outcome:
    began = time.monotonic()
    # why both: where it is captured it is no client's, and gateways count it for nobody
    request_id = signed_id(own_requests_key(), target.endpoint, time.time())
    call = replace(case.call, id=COMPARISON, request_id=request_id)
    try:
        answer = await infer_http(client, target, call, timeout_s)
        got = as_arrays(answer.outputs)
    except InferenceFailed as error:
        known = error.deployment and error.status not in SILENT
        unreadable = error.code == "AnswerUnreadable"
        status = Status.REFUSED if known or unreadable else Status.UNANSWERED
        return _outcome(case, status, began, text=_told(error, timeout_s), code=error.status)
    except ValueError as error:
        return _outcome(case, Status.REFUSED, began, text=f"its answer cannot be read: {error}")
    found = tuple(differences(case.expected, got, case.tolerance, by_class=case.by_class))
    return _outcome(
        case,
        Status.DIFFERS if found else Status.PASSED,
        began,
        differences=found,
        text="; ".join(f"{one.output} {one.text}" for one in found),
        outputs=answer.outputs,
    )


def as_arrays(tensors: Iterable[Tensor]) -> dict[str, tuple[str, Array]]:
    """Raises ValueError: these bytes are not such a tensor."""
    return {one.name: (one.datatype, array(one.datatype, one.shape, one.raw)) for one in tensors}


def _told(error: InferenceFailed, timeout_s: float) -> str:
    if isinstance(error.__cause__, TimeoutError | httpx.TimeoutException):
        return f"there was no answer within {timeout_s:.0f} s"
    status = f" ({error.status})" if error.status else ""
    return f"{str(error)[:300].rstrip('.')}{status}"


def _outcome(
    case: Case,
    status: Status,
    began: float,
    *,
    text: str,
    differences: tuple[Difference, ...] = (),
    outputs: tuple[Tensor, ...] = (),
    code: int = 0,
) -> Outcome:
    return Outcome(
        id=case.id,
        case=case.name,
        model=case.call.model,
        status=status,
        seconds=time.monotonic() - began,
        differences=differences,
        text=text,
        outputs=outputs,
        code=code,
    )
