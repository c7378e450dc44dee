"""What front ends are told, and how long what they may still ask for is kept."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from worker_runtime.config import UsageError, parse
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.frontends.host import shared_out
from worker_runtime.frontends.messages import CopyForm, State
from worker_runtime.frontends.mirror import Mirror
from worker_runtime.observability.logging import LogOptions
from worker_runtime.types.listening import ConnectionLimits
from worker_runtime.types.signature import Signature
from worker_runtime.types.triton_messages import model_config_pb2


class Model:
    def __init__(self, name: str) -> None:
        self.name, self.version, self.on_device = name, 1, False
        self.config = model_config_pb2.ModelConfig(name=name)
        self.signature = Signature(name, 0, (), ())
        self.pins = 0

    def pin(self) -> None:
        self.pins += 1

    def unpin(self) -> None:
        self.pins -= 1


class Served:
    """An engine and its manager, as far as a mirror looks."""

    def __init__(self) -> None:
        self.ready: dict[tuple[str, str], Model] = {}
        self.known: list[str] = []
        self.shared_memory = SharedMemory()
        self.stopping = False
        self.tracer = SimpleNamespace(active=False)
        self.log = SimpleNamespace(options=LogOptions())
        self._watchers: list[Any] = []

    def told_versions(self) -> dict[str, list[int]]:
        return {key: [1] for key, _ in self.ready}

    def watch(self, changed: Any) -> None:
        self._watchers.append(changed)

    def serve(self, model: Model) -> None:
        self.ready[model.name, ""] = model
        for changed in self._watchers:
            changed()

    def unload(self, name: str) -> None:
        del self.ready[name, ""]
        for changed in self._watchers:
            changed()


class Viewer:
    def __init__(self) -> None:
        self.seen = 0
        self.told: set[int] = set()
        self.copies: tuple[CopyForm, ...] = ()
        self.spared: tuple[CopyForm, ...] = ()
        self.states: list[State] = []
        self.given_up = ""

    def tell(self, state: State) -> None:
        self.states.append(state)

    def give_up(self, why: str) -> None:
        self.given_up = why


def mirrored() -> tuple[Served, Mirror, list[Viewer]]:
    served: Any = Served()
    mirror = Mirror(served, served)
    viewers = [Viewer(), Viewer()]
    for viewer in viewers:
        mirror.join(viewer)
    return served, mirror, viewers


async def test_a_model_is_told_of_once_and_kept_until_all_have_seen_that_it_left() -> None:
    served, mirror, (one, other) = mirrored()
    old, new = Model("m"), Model("m")
    served.serve(old)
    served.serve(new)
    assert [len(state.models) for state in one.states] == [0, 1, 1]
    assert (old.pins, new.pins) == (1, 1)
    mirror.seen(one, mirror.epoch)
    assert old.pins == 1
    mirror.seen(other, mirror.epoch)
    assert (old.pins, new.pins) == (0, 1)
    served.serve(new)
    assert len(one.states) == 3, "nothing has changed"
    served.unload("m")
    mirror.leave(other)
    mirror.seen(one, mirror.epoch)
    assert new.pins == 0
    assert not mirror.models


async def test_who_joins_late_is_told_everything_and_waited_for_from_then_on() -> None:
    served, mirror, viewers = mirrored()
    served.serve(Model("m"))
    for viewer in viewers:
        mirror.seen(viewer, mirror.epoch)
    late = Viewer()
    mirror.join(late)
    assert [form.name for form in late.states[0].models] == ["m"]
    assert mirror.settled


async def test_a_call_waits_for_all_and_ends_who_does_not_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("worker_runtime.frontends.mirror._PATIENCE_S", 0.05)
    served, mirror, (one, other) = mirrored()
    served.serve(Model("m"))
    assert not mirror.settled
    waiting = asyncio.ensure_future(mirror.settle())
    await asyncio.sleep(0)
    mirror.seen(one, mirror.epoch)
    await asyncio.sleep(0)
    assert not waiting.done()
    await asyncio.wait_for(waiting, 5)
    assert other.given_up
    assert not one.given_up
    assert mirror.settled


async def test_settings_are_told_when_they_change() -> None:
    served, mirror, (one, _) = mirrored()
    served.log.options = LogOptions(verbose=1)
    served.tracer.active = served.stopping = True
    assert not mirror.settled
    assert (one.states[-1].log.verbose, one.states[-1].tracing, one.states[-1].stopping) == (
        *(1, True),
        True,
    )


@pytest.mark.parametrize(
    "flag", ["--grpc-frontend=grpcio", "--allow-sagemaker=true", "--allow-vertex-ai=true"]
)
def test_what_cannot_be_served_by_front_ends_is_refused(flag: str) -> None:
    with pytest.raises(UsageError, match=f"--frontends is 2, .* combined with {flag}"):
        parse(["--model-repository=/m", "--frontends=2", flag, "--http-port=8000"])
    assert parse(["--model-repository=/m", "--frontends=2"]).frontends == 2
    assert parse(["--model-repository=/m"]).frontends == 0


def test_limits_are_parted_and_never_nothing() -> None:
    parted = shared_out(ConnectionLimits(connections=3, buffered_bytes=10), 4)
    assert (parted.connections, parted.buffered_bytes) == (1, 3)
    free = shared_out(ConnectionLimits(connections=0, buffered_bytes=0), 4)
    assert (free.connections, free.buffered_bytes) == (0, 0)
    assert (shared_out(ConnectionLimits(), 4).buffered_bytes or 0) > 0
