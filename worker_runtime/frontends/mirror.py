"""What front ends know by heart, told by the core: models, regions, settings; and who knows it.

Each state has a number. A model that leaves stays pinned until every front end has said that it
has seen a state without it: requests that are on their way find it. A call of control is answered
once all have seen what it changed, through whichever front end it came.
"""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Protocol

from worker_runtime.core.engine import Engine
from worker_runtime.core.manager import Manager
from worker_runtime.core.model import ModelVersion
from worker_runtime.frontends.messages import CopyForm, ModelForm, RegionForm, SpecForm, State
from worker_runtime.types.signature import TensorSpec

_PATIENCE_S = 5.0  # with a front end that does not look


class Viewer(Protocol):
    """A front end."""

    seen: int  # the number of the last state that it has looked at
    told: set[int]  # the models that it was told of
    copies: tuple[CopyForm, ...]  # of those that it was told to run itself
    spared: tuple[CopyForm, ...]  # as long as these are all, it runs none

    def tell(self, state: State) -> None: ...

    def give_up(self, why: str) -> None:
        """End it: it does nothing any more."""
        ...


class Mirror:
    """``copied`` tells of the READY models, by number, which front ends run themselves, and how."""

    def __init__(
        self,
        engine: Engine,
        manager: Manager,
        copied: Callable[[Mapping[int, ModelVersion]], tuple[CopyForm, ...]] = lambda _: (),
    ) -> None:
        self._engine = engine
        self._manager = manager
        self._copied = copied
        self._viewers: list[Viewer] = []
        self._numbers = count(1)
        self._by_id: dict[int, int] = {}
        self._leaving: dict[int, int] = {}  # by model, the first state without it
        self._regions: dict[str, tuple[Any, int]] = {}
        self._snapshot: tuple[Any, ...] = ()
        self._looked = asyncio.Event()
        self.epoch = 0
        self.models: dict[int, ModelVersion] = {}
        manager.watch(self.publish)

    def join(self, viewer: Viewer) -> None:
        """Tell it everything, from now on."""
        self.publish()
        viewer.seen = self.epoch
        viewer.told = set()
        viewer.copies = ()
        self._viewers.append(viewer)
        viewer.tell(self._state(viewer))

    def leave(self, viewer: Viewer) -> None:
        if viewer in self._viewers:
            self._viewers.remove(viewer)
            self._seen_more()

    def seen(self, viewer: Viewer, epoch: int) -> None:
        viewer.seen = epoch
        self._seen_more()

    def publish(self) -> None:
        """Tell everybody, if anything has changed."""
        snapshot = self._look()
        if snapshot == self._snapshot:
            return
        self._snapshot = snapshot
        self.epoch += 1
        ready = {number for _, _, number in snapshot[0]}
        for number in self.models:
            if number in ready:
                self._leaving.pop(number, None)
            else:
                self._leaving.setdefault(number, self.epoch)
        for viewer in self._viewers:
            viewer.tell(self._state(viewer))
        self._seen_more()

    @property
    def settled(self) -> bool:
        """Everybody has seen everything."""
        self.publish()
        return all(viewer.seen >= self.epoch for viewer in self._viewers)

    @property
    def copies(self) -> tuple[CopyForm, ...]:
        """Of the models that front ends run themselves."""
        found: tuple[CopyForm, ...] = self._snapshot[-1] if self._snapshot else ()
        return found

    async def settle(self) -> None:
        """Wait until they have; who takes too long is ended, and will start with what is true."""
        self.publish()
        epoch, end = self.epoch, asyncio.get_running_loop().time() + _PATIENCE_S
        while late := [viewer for viewer in self._viewers if viewer.seen < epoch]:
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                for viewer in late:
                    self.leave(viewer)
                    viewer.give_up("it does not look at what changes")
                return
            self._looked.clear()
            try:
                await asyncio.wait_for(self._looked.wait(), left)
            except TimeoutError:
                continue

    # --- inside ----------------------------------------------------------------------------------

    def _seen_more(self) -> None:
        seen = min((viewer.seen for viewer in self._viewers), default=self.epoch)
        for number in [n for n, epoch in self._leaving.items() if epoch <= seen]:
            del self._leaving[number]
            model = self.models.pop(number)
            del self._by_id[id(model)]
            model.unpin()
        self._looked.set()

    def _look(self) -> tuple[Any, ...]:
        engine, manager = self._engine, self._manager
        ready = tuple([(*key, self._number(model)) for key, model in manager.ready.items()])
        return (
            ready,
            tuple(manager.known),
            tuple([(key, tuple(held)) for key, held in manager.told_versions().items()]),
            tuple(self._look_at_regions()),
            engine.stopping,
            engine.tracer.active,
            engine.log.options,
            self._copied({number: self.models[number] for _, _, number in ready}),
        )

    def _number(self, model: ModelVersion) -> int:
        number = self._by_id.get(id(model))
        if number is None:
            number = self._by_id[id(model)] = next(self._numbers)
            self.models[number] = model
            model.pin()
        return number

    def _look_at_regions(self) -> list[RegionForm]:
        regions = self._engine.shared_memory.regions
        for name in [name for name in self._regions if name not in regions]:
            del self._regions[name]
        found = []
        for name, region in regions.items():
            held, number = self._regions.get(name, (None, 0))
            if held is not region:
                number = next(self._numbers)
                self._regions[name] = (region, number)
            told = region.status()
            key, offset = told.get("key", ""), told.get("offset", 0)
            found.append(RegionForm(number, name, region.kind, region.byte_size, key, offset))
        return found

    def _state(self, viewer: Viewer) -> State:
        ready, known, versions, regions, stopping, tracing, log, copies = self._snapshot
        numbers = {number for _, _, number in ready}
        fresh = [_form(number, self.models[number]) for number in sorted(numbers - viewer.told)]
        viewer.told = numbers
        held = {key: list(numbers_of) for key, numbers_of in versions}
        copies = copies if copies != viewer.spared else ()
        had = {id(form) for form in viewer.copies}
        viewer.copies = copies
        return State(
            *(self.epoch, fresh, list(ready), list(known), held, list(regions)),
            *(stopping, tracing, log),
            copies=[form for form in copies if id(form) not in had],
            runs=[form.number for form in copies],
        )


def _form(number: int, model: ModelVersion) -> ModelForm:
    signature = model.signature
    return ModelForm(
        number=number,
        name=model.name,
        version=model.version,
        config=model.config.SerializeToString(),
        model=signature.model,
        max_batch_size=signature.max_batch_size,
        inputs=tuple(map(_spec, signature.inputs)),
        outputs=tuple(map(_spec, signature.outputs)),
        on_device=model.on_device,
    )


def _spec(spec: TensorSpec) -> SpecForm:
    return SpecForm(
        *(spec.name, spec.datatype.name, spec.dims, spec.reshape, spec.optional),
        *(spec.labels, spec.ragged, spec.shape_tensor),
    )
