"""A whole sweep: one point after the other, each told as soon as it is measured."""

import gc
from collections.abc import Callable

from load_client.driving import Driver, Seen
from load_client.points import point_of, stop_reason
from load_client.requests import http_request
from load_client.signature import random_inputs
from load_client.statistics import between
from load_client.targets import Target
from wire.load import CONCURRENCY, LoadPlan, LoadPoint


class NothingAnswered(RuntimeError):
    """Not one good answer: its text has what came instead, ``said`` the server's words."""

    def __init__(self, text: str, said: str) -> None:
        super().__init__(text)
        self.said = said


class Stopped(RuntimeError):
    """Somebody asked for that."""


def run(
    plan: LoadPlan,
    target: Target,
    *,
    tell: Callable[[LoadPoint], None],
    stop: Callable[[], bool] = lambda: False,
) -> str:
    """Why it ended before the last level, empty if it did not.

    Raises NothingAnswered, Stopped, Unreachable, ValueError for a plan without a sense.
    """
    request = http_request(
        plan,
        plan.inputs or random_inputs(plan, target),
        host=target.address,
        prefix=target.prefix,
        headers=target.headers,
    )
    driver = Driver(target.connect, request, timeout_s=plan.timeout_s, stop=stop)
    gc.freeze()  # why: what is there stays, and looking through it would be a pause in latencies
    try:
        _check(driver.rate(1, 1), driver)
        for level in plan.levels:
            if plan.warm_up_s:
                _drive(driver, plan, level, plan.warm_up_s)
            before = target.statistics(plan.model, plan.version)
            seen = _drive(driver, plan, level, plan.seconds)
            inside = between(before, target.statistics(plan.model, plan.version))
            point = point_of(level, seen, inside)
            tell(point)
            _check(seen, driver)
            if reason := stop_reason(point, plan):
                return reason
    finally:
        driver.close()
    return ""


def _drive(driver: Driver, plan: LoadPlan, level: float, seconds: float) -> Seen:
    """Raises Stopped: half a point is none."""
    if plan.mode == CONCURRENCY:
        seen = driver.concurrency(int(level), seconds)
    else:
        seen = driver.rate(level, seconds)
    if driver.stopped:
        raise Stopped
    return seen


def _check(seen: Seen, driver: Driver) -> None:
    if driver.stopped:
        raise Stopped
    if not seen.latencies:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in seen.errors.most_common(3))
        raise NothingAnswered(
            f"No request was answered well: {kinds or 'nothing came'}.", seen.said
        )
