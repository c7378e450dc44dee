"""The installation that all cases run on, and what they ask of it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import httpx

from shoal.client import Client
from tests.autopilot.report import Report
from tests.chaos.load import Load
from tests.chaos.studio import python_model, until
from tests.chaos.system import System

Later = Callable[[], None] | None  # what a case looks at once all others have run
STAGES = ("download", "load", "warm", "route")


@dataclass
class World:
    system: System
    client: Client
    report: Report
    folder: Path
    tries: int

    def endpoint(self, name: str, code: str, deployment: str = "blue", **wanted: Any) -> None:
        """A Python model of that name, deployed. All of the traffic unless said."""
        studio = self.system.studio
        model = f"{name}-{deployment}"
        studio.register(model, python_model("quote", code), f"{model}.zip")
        studio.succeeded(studio.deploy(name, model, name=deployment, **wanted))

    def set(self, name: str, deployment: str = "blue", **settings: Any) -> None:
        path = f"/endpoints/{name}/deployments/{deployment}"
        begun = self.system.studio.send("PATCH", path, settings)
        if "state" in begun:  # an operation
            self.system.studio.finished(begun["id"])

    def decisions(self, name: str, verb: str, since: float) -> list[dict[str, Any]]:
        """Events of this endpoint, oldest first."""
        found = self.system.studio.get(f"/events?subject=endpoint/{name}&limit=200")["items"]
        chosen = [one for one in found if one["verb"] == verb and seconds(one["at"]) >= since]
        return sorted(chosen, key=lambda one: str(one["at"]))

    def stages(self, operation: str, since: float) -> str:
        """When each stage ended, for the reason why something took so long."""
        found = self.system.studio.get(f"/operations/{operation}")
        ended = {one["name"]: one["ended_at"] for one in found["stages"] if one["ended_at"]}
        told = [f"{name} until {seconds(ended[name]) - since:.2f} s" for name in STAGES
                if name in ended]  # fmt: skip
        return ", ".join(told)

    def at_zero(self, *names: str) -> None:
        def look() -> bool:
            shown = [self.system.studio.get(f"/endpoints/{name}") for name in names]
            return all(
                one["serving_state"] == "Idle" and not one["deployments"][0]["replicas"]
                for one in shown
            )

        until(look, f"{', '.join(names)} at zero", 90)

    def delete(self, *names: str) -> None:
        for name in names:
            self.system.studio.delete(name)


def seconds(moment: str) -> float:
    """Unix seconds of a moment as REST tells it."""
    return datetime.fromisoformat(moment).timestamp()


@dataclass
class Paced(Load):
    """Calls at a rate, whatever the answers take; ``answers`` has each: when, what, by whom."""

    answers: list[tuple[float, str, str]] = field(default_factory=list)  # Unix seconds

    def __post_init__(self) -> None:
        super().__post_init__()
        self._due: dict[int, float] = {}

    def _ended(self, number: int) -> bool:
        now = time.monotonic()
        due = self._due.get(number, now + number * self.pause_s / self.at_once)
        self._due[number] = max(due, now) + self.pause_s
        return self._stop.wait(max(0.0, due - now))

    def _count(self, what: str, answer: httpx.Response | None, began: float) -> None:
        by = "" if answer is None else answer.headers.get("x-shoal-deployment", "")
        with self._counting:
            self.answers.append((time.time(), what, by))
        super()._count(what, answer, began)

    def of(self, deployment: str) -> list[tuple[float, str, str]]:
        with self._counting:
            return [one for one in self.answers if one[2] == deployment]


@dataclass
class Few(Paced):
    at_once: ClassVar[int] = 3


@dataclass
class Many(Paced):
    """So many that they ask on while hundreds of requests wait."""

    at_once: ClassVar[int] = 135


@dataclass
class Some(Paced):
    at_once: ClassVar[int] = 8


def load(world: World, kind: type[Paced], name: str, each_s: float) -> Paced:
    """Callers of ``quote`` there, each of which asks every ``each_s`` seconds."""
    studio = world.system.studio
    url, key = studio.infer_url(name, "quote"), studio.key(name)
    return kind(url, key, pause_s=each_s, trust=False)  # by plain HTTP: there is nobody to trust


def pause(some_s: float) -> None:
    """While a load goes on that is what is being looked at."""
    threading.Event().wait(some_s)
