"""An objective that is burnt is told, by somebody who can be believed, and resolved again."""

import hashlib
import hmac
import json
import time
from typing import Any

from tests.autopilot import models
from tests.autopilot.report import say
from tests.autopilot.world import Some, World, load
from tests.chaos.studio import until
from tests.support.webhook_receiver import Receiver

TOLD_S = 30.0  # from the first failure: two looks of the control plane
FAILS = 0.3
FEW_S, MANY_S = 0.8, 0.02  # between two calls of each of eight callers
DILUTED = 110  # good requests for each that failed: fewer than 1 % are bad then
FAST, SLOW = "objective-fast-burn", "objective-slow-burn"
RESOLVED_S = 240.0  # 120 s whole, and looks every 15 s


def burnt(world: World) -> Any:
    """Three of ten fail: both burn alerts fire, a signed webhook tells it; then it is resolved."""
    studio, receiver = world.system.studio, Receiver()
    secret = studio.send(
        "POST", "/channels", {"name": "on-call", "kind": "webhook", "url": f"{receiver.url}/hook"}
    )["secret"]
    world.endpoint("burnt", models.failing(0))
    world.endpoint("burnt", models.failing(FAILS), "broken", traffic=0)
    promise = {"name": "answered", "kind": "availability", "target_percent": 99}
    studio.send("PATCH", "/endpoints/burnt", {"objectives": [promise]})
    studio.send("PUT", "/endpoints/burnt/traffic", {"traffic": {"broken": 100, "blue": 0}})
    with load(world, Some, "burnt", FEW_S) as callers:
        told = until(lambda: _told(receiver, "firing"), "both alerts are told", 2 * TOLD_S)
        at = time.time()
    failed = [at for at, what, _ in callers.of("broken") if what != "200"]
    say(f"   {len(failed)} of {callers.sent} requests failed")
    studio.send("PUT", "/endpoints/burnt/traffic", {"traffic": {"blue": 100, "broken": 0}})
    until(lambda: studio.get("/endpoints/burnt")["routed"], "the good version answers")
    wanted = DILUTED * len(failed)
    with load(world, Some, "burnt", MANY_S) as callers:
        until(lambda: callers.sent >= wanted, f"{wanted} good answers")
    for rule, message in sorted(told.items()):
        say(f"   {rule}: {message['alert']['summary']}")
    world.report.must("both burn alerts fire", set(told) == {FAST, SLOW}, ", ".join(sorted(told)))
    world.report.within("from the first failure until both are told", at - failed[0], TOLD_S)
    good = sum(_believed(secret, headers, content) for _, headers, content in receiver.got)
    world.report.must(
        "every webhook's signature verifies", good == len(receiver.got) > 0,
        f"{good} of {len(receiver.got)}",
    )  # fmt: skip
    forged = [
        _believed(secret, headers, content.replace(b"firing", b"resolved"))
        for _, headers, content in receiver.got
    ]
    world.report.must("and not that of another text", not any(forged), f"{sum(forged)} believed")

    def resolved() -> None:
        try:
            left = until(lambda: _told(receiver, "resolved").get(FAST), "resolved", RESOLVED_S)
            world.report.must("resolved once it holds again", True, left["alert"]["resolution"])
            say(f"   {SLOW} is resolved ten minutes after it holds again; that is not waited for")
            world.delete("burnt")
            studio.send("DELETE", "/channels/on-call")
        finally:
            receiver.close()

    return resolved


def _told(receiver: Receiver, event: str) -> dict[str, Any]:
    """Messages of that event by rule; of those that fire, once both have been told."""
    messages = [json.loads(content) for _, _, content in list(receiver.got)]
    found = {one["alert"]["rule"]: one for one in messages if one["event"] == event}
    return found if event == "resolved" or {FAST, SLOW} <= set(found) else {}


def _believed(secret: str, headers: dict[str, str], content: bytes) -> bool:
    """As docs/alerts.md has receivers do it."""
    signed = headers["Shoal-Timestamp"].encode() + b"." + content
    expected = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, headers["Shoal-Signature"])
