"""Who waits for a replica, who is refused, and what is told of it; no Envoy, no control plane."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from controlplane.gateway.control_client import ControlPlaneUnavailable
from controlplane.gateway.holding import Holding, Refusal
from wire.samples import GatewaySample
from wire.waking import HoldLimits, WakeReply

BLUE, GRPC, GREEN = "digits__blue__http", "digits__blue__grpc", "digits__green__http"


@dataclass
class World:
    """What the agent asks: which clusters have a replica, and what the control plane says."""

    serving: set[str] = field(default_factory=set)
    reply: WakeReply | None = field(default_factory=lambda: WakeReply(wakes=True))
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def wake(self, *name: str) -> WakeReply:
        self.asked.append((name[0], name[1]))
        if self.reply is None:
            raise ControlPlaneUnavailable("away")
        return self.reply

    async def look(self) -> frozenset[str]:
        return frozenset(self.serving)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0)


def run(scene: Callable[[World, Holding], Coroutine[Any, Any, None]], most: int = 100) -> None:
    async def whole() -> None:
        world = World()
        holding = Holding(world.wake, world.look, most=most)
        await scene(world, holding)
        await until(lambda: holding.held() == {})

    asyncio.run(whole())


def test_only_those_of_the_cluster_that_serves_go_on() -> None:
    async def scene(world: World, holding: Holding) -> None:
        http = [asyncio.create_task(holding.hold(BLUE)) for _ in range(3)]
        grpc = asyncio.create_task(holding.hold(GRPC))
        green = asyncio.create_task(holding.hold(GREEN))
        await until(lambda: len(world.asked) == 2)
        assert holding.held() == {("digits", "blue"): 4, ("digits", "green"): 1}
        world.serving = {BLUE}
        assert await asyncio.gather(*http) == [None, None, None]
        assert not grpc.done()
        world.serving = {BLUE, GRPC}
        assert await grpc is None
        green.cancel()
        assert sorted(world.asked) == [("digits", "blue"), ("digits", "green")]
        known = GatewaySample("digits", "blue", 1.0, 2.0, 5)
        told = {one.deployment: one for one in holding.told([known], 3.0, 2.0)}
        assert (told["blue"].requests, told["blue"].held, told["green"].held) == (5, 4, 1)
        assert (len(told["blue"].wakes_s), told["green"].wakes_s) == (2, ())
        assert holding.told([], 4.0, 1.0) == ()

    run(scene)


def test_one_too_many_is_refused_at_once_by_deployment_and_in_all() -> None:
    async def scene(world: World, holding: Holding) -> None:
        holding.limits = {BLUE: HoldLimits(60, 1), GRPC: HoldLimits(60, 1)}
        first = asyncio.create_task(holding.hold(BLUE))
        await until(lambda: holding.held() != {})
        refused = await holding.hold(GRPC)  # both protocols wait for the same replica
        assert refused == Refusal(
            "1 at most may wait for a replica of this deployment. Try again later.", 1
        )
        second = asyncio.create_task(holding.hold(GREEN))
        await until(lambda: len(holding.held()) == 2)
        refused = await holding.hold(GREEN)
        assert refused == Refusal(
            "2 at most may wait for replicas at this gateway. Try again later.", 1
        )
        world.serving = {BLUE, GREEN}
        assert (await first, await second) == (None, None)

    run(scene, most=2)


def test_what_does_not_wake_is_not_waited_for() -> None:
    async def scene(world: World, holding: Holding) -> None:
        world.reply = WakeReply(wakes=False, reason="it is Failed.")
        assert await holding.hold(BLUE) == Refusal(
            "No replica of this deployment runs: it is Failed.", 5
        )

    run(scene)


def test_who_waited_too_long_is_told_what_stood_in_the_way() -> None:
    async def scene(world: World, holding: Holding) -> None:
        holding.limits = {BLUE: HoldLimits(0, 1)}
        refused = await holding.hold(BLUE)
        assert refused is not None
        assert refused.text.endswith("within 0 s: it is still being started.")
        world.reply = None
        holding.limits = {BLUE: HoldLimits(1, 1)}
        refused = await holding.hold(BLUE)
        assert refused is not None
        assert refused.text.endswith("the control plane, which starts one, does not answer.")

    run(scene)
