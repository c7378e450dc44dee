"""Replicas follow the load, down to none and back, and never samples that are missing."""

import asyncio
import os
import signal
import time
from typing import Any

import httpx
import numpy as np
import tritonclient.grpc.aio as triton

from benchmarks.waking import SIDE, model_write
from tests.autopilot import models
from tests.autopilot.report import say
from tests.autopilot.world import Few, Many, World, load, pause, seconds
from tests.chaos.studio import until

DECIDED_S, READY_S = 3.0, 2.0
WOKEN_S = 0.5
BURST, WARMED = 500, 1  # requests
FOLLOWS = {
    "min": 1,
    "max": 4,
    "targets": {"in_flight": 1},
    "up": {"cooldown_s": 2},
    "down": {"window_s": 10, "cooldown_s": 2},
}
TO_ZERO = {"min": 0, "max": 1, "idle": {"after_s": 10}}


def step(world: World) -> None:
    """Ten times the load: 3 and then 30 requests a second of a model that takes 50 ms for each."""
    report, studio = world.report, world.system.studio
    world.endpoint("step", models.slow(), autoscale=FOLLOWS)
    decided: list[float] = []
    ready: list[float] = []
    failed = sent = 0
    for _ in range(world.tries):
        until(lambda: len(studio.replicas("step")) == 1, "one replica")
        with load(world, Few, "step", 1.0) as few:
            began = time.time()
            with load(world, Many, "step", 5.0) as many:
                up = until(lambda at=began: world.decisions("step", "deployment.autoscaled", at),
                           "a decision", 30)[0]  # fmt: skip
                ended = studio.finished(up["data"]["operation"])
                pause(2)
        failed, sent = failed + few.lost + many.lost, sent + few.sent + many.sent
        at = seconds(up["at"])
        decided.append(at - began)
        ready.append(seconds(ended["finished_at"]) - at)
        stages = world.stages(up["data"]["operation"], at)
        say(f"   {decided[-1]:.2f} s: {up['message']} Ready and routed {ready[-1]:.2f} s later "
            f"({stages})")  # fmt: skip
        count = up["data"]["after"]["instance_count"]
        report.must("it goes up", count > 1, f"{count} replicas")
    report.of_tries("from the step to the decision", decided, DECIDED_S)
    report.of_tries("from the decision until new replicas are routed", ready, READY_S)
    report.must("no request fails", failed == 0, f"{failed} of {sent}")
    world.delete("step")


def zero(world: World) -> None:
    """To zero and back: a model of 100 MB is woken, then 500 requests at once, by HTTP and gRPC."""
    studio = world.system.studio
    path = world.folder / "large.onnx"
    model_write(path)
    studio.register("large", path.read_bytes(), path.name)
    world.system.endpoint("burst", autoscale=TO_ZERO)
    studio.succeeded(studio.deploy("large", "large", autoscale=TO_ZERO))
    _wakes(world)
    _bursts(world)
    world.delete("large", "burst")


def _wakes(world: World) -> None:
    studio = world.system.studio
    tensor = {"name": "x", "shape": [1, SIDE], "datatype": "FP32", "data": [0.5] * SIDE}
    url, key = studio.infer_url("large", "large"), studio.key("large")
    took: list[float] = []
    slowest, why = 0.0, ""
    with httpx.Client(
        headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=90
    ) as client:
        for _ in range(world.tries):
            world.at_zero("large")
            at, began = time.time(), time.monotonic()
            answer = client.post(url, json={"inputs": [tensor]})
            took.append(time.monotonic() - began)
            world.report.must(
                "who wakes it is answered",
                answer.is_success,
                f"{answer.status_code} after {took[-1]:.2f} s",
            )
            if took[-1] > slowest:
                slowest = took[-1]
                why = world.stages(studio.deployment("large")["operation"], at)
    world.report.of_tries("a wake of 100 MB, request to answer", took, WOKEN_S, why)


def _bursts(world: World) -> None:
    for protocol, ask in (("HTTP", _by_http), ("gRPC", _by_grpc)):
        world.at_zero("burst")
        began = time.monotonic()
        answers = asyncio.run(ask(world))
        took = time.monotonic() - began
        right = sum(one == number for number, one in enumerate(answers))
        counted = _counted(world)
        world.report.must(
            f"{BURST} requests at zero by {protocol}",
            right == BURST and counted == BURST,
            f"{right} right answers in {took:.1f} s, the replica counted {counted} requests",
        )


def _counted(world: World) -> int:
    """Requests that the replica of now has answered, without that by which its agent warmed it."""
    studio = world.system.studio
    url = studio.infer_url("burst", "tiny").removesuffix("infer") + "stats"
    shown = httpx.get(
        url, headers={"Authorization": f"Bearer {studio.key('burst')}"}, trust_env=False
    )
    (one,) = shown.raise_for_status().json()["model_stats"]
    return int(one["inference_stats"]["success"]["count"]) - WARMED


async def _by_http(world: World) -> list[float | None]:
    """What came back for each number; None: no answer, or a refusal."""
    studio = world.system.studio
    url, key = studio.infer_url("burst", "tiny"), studio.key("burst")
    limits = httpx.Limits(max_connections=BURST)
    async with httpx.AsyncClient(
        headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=90, limits=limits
    ) as client:

        async def one(number: int) -> float | None:
            tensor = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [number] * 4}
            answer = await client.post(url, json={"inputs": [tensor]})
            return float(answer.json()["outputs"][0]["data"][0]) if answer.is_success else None

        return await asyncio.gather(*(one(number) for number in range(BURST)))


async def _by_grpc(world: World) -> list[float | None]:
    studio, product = world.system.studio, world.system.product
    headers = {"authorization": f"Bearer {studio.key('burst')}", "x-shoal-endpoint": "burst"}
    target = studio.get("/endpoints/burst")["grpc_target"]
    async with triton.InferenceServerClient(
        target, ssl=True, root_certificates=product.client["ca_path"]
    ) as client:

        async def one(number: int) -> float | None:
            tensor = triton.InferInput("x", [1, 4], "FP32")
            tensor.set_data_from_numpy(np.full((1, 4), number, np.float32))
            answer: Any = await client.infer("tiny", [tensor], headers=headers)
            return float(answer.as_numpy("y")[0, 0])

        return await asyncio.gather(*(one(number) for number in range(BURST)))


def lost_samples(world: World) -> None:
    """Metrics stop: the agent of the only node is frozen while the load goes away."""
    system, studio = world.system, world.system.studio
    node = system.add_node("quiet")
    try:
        world.endpoint("blind", models.slow(), autoscale=FOLLOWS, instance_count=1,
                       node_labels=system.label("quiet", "quiet"))  # fmt: skip
        with load(world, Many, "blind", 5.0):
            until(lambda: len(studio.replicas("blind")) > 1, "more replicas", 60)
            until(lambda: studio.deployment("blind")["provisioning_state"] == "Succeeded", "ready")
        before = len(studio.replicas("blind"))
        assert node.process is not None
        since = time.time()
        os.kill(node.process.pid, signal.SIGSTOP)
        try:
            said = until(lambda: _unmeasured(world), "the decision says that nothing is measured")
            pause(2.0 * FOLLOWS["down"]["window_s"])  # type: ignore[index]  # as it is above
            kept = len(studio.replicas("blind"))
            said = _unmeasured(world) or said
        finally:
            os.kill(node.process.pid, signal.SIGCONT)
        decided = world.decisions("blind", "deployment.autoscaled", since)
        world.report.must(
            "lost samples take nothing away", kept == before and not decided,
            f"{before} replicas before, {kept} after; it said: {said}",
        )  # fmt: skip
        until(lambda: len(studio.replicas("blind")) == 1, "down to one with samples", 90)
        world.report.must("with samples again it goes down", True, "1 replica")
        world.delete("blind")
    finally:
        system.remove_node("quiet")


def _unmeasured(world: World) -> str:
    """What the last decision says of lost samples; empty: nothing yet."""
    reason = str((world.system.studio.deployment("blind")["autoscaling"] or {}).get("reason", ""))
    return reason if "measured" in reason or "sampled" in reason else ""
