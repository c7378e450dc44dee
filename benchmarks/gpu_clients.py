"""One process of the load on a GPU server: python -m benchmarks.gpu_clients JOB.

A point is two lines. The first says what to ask and how; the answer says that all lanes are
connected. The second has two times of the monotonic clock: the load begins at once and lasts until
the second, and what is answered between them counts.
"""

import json
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import grpc

from benchmarks.gpu_answers import Answers
from benchmarks.gpu_catalog import SAMPLES, served
from benchmarks.gpu_child import Voice
from benchmarks.gpu_lanes import Lane, Load, lanes
from benchmarks.gpu_memory import NoCuda
from benchmarks.gpu_models import Kit, samples_of

_MOST_ERRORS = 5  # of a lane, which gives up then
_FAILURES = (OSError, RuntimeError, NoCuda, grpc.RpcError)


@dataclass(slots=True)
class Told:
    """Of one lane. ``latencies_us``: of the requests that were answered in time."""

    latencies_us: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def drive(lane: Lane, number: int, answers: Answers, start: float, end: float) -> Told:
    """One request under way until ``end``, from the next sample each time."""
    told, first = Told(), number % SAMPLES
    while (sent := time.monotonic()) < end and len(told.errors) < _MOST_ERRORS:
        try:
            lane.infer(first)
            done = time.monotonic()
            if answers.due():
                answers.compare(first, lane.answer())
        except _FAILURES as error:
            told.errors.append(f"{type(error).__name__}: {error}"[:500])
            lane.reset()
            continue
        if start <= done < end:
            told.latencies_us.append(round((done - sent) * 1e6))
        first = (first + 1) % SAMPLES
    return told


def main(job: dict[str, Any]) -> None:
    voice = Voice()
    kit = Kit(job["device"], job["tiny"])
    for line in sys.stdin:
        try:
            _point(kit, json.loads(line), voice)
        except _FAILURES as error:
            voice.say({"failed": f"{type(error).__name__}: {error}"[:2000]})


def _point(kit: Kit, asked: dict[str, Any], voice: Voice) -> None:
    model = kit.model(asked["model"])
    samples, expected = samples_of(kit, model.key)
    batch, count = asked["batch"], asked["lanes"]
    checks = [Answers(expected, batch, model.tolerance) for _ in range(count)]
    load = Load(
        model, served(model.key, asked["library"]), batch, checks[0].byte_size, samples,
        asked["http_port"], asked["grpc_port"],
    )  # fmt: skip
    opened = lanes(load, asked["transport"], count)
    try:
        voice.say({"connected": count})
        start, end = json.loads(sys.stdin.readline())
        found: list[Told] = [Told() for _ in opened]

        def run(number: int) -> None:
            found[number] = drive(opened[number], number, checks[number], start, end)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for lane in opened:
            lane.close()
    errors = [text for one in found for text in one.errors]
    voice.say(
        {
            "latencies_us": [value for one in found for value in one.latencies_us],
            "checked": sum(one.checked for one in checks),
            "wrong": sum(one.wrong for one in checks),
            "errors": len(errors),
            "first_error": errors[0] if errors else "",
        }
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
