"""Which models front ends run themselves, as the core decides it.

A model asks for it by a parameter of its configuration. It must need nothing that only one process
can have: a sequence's state, a cache, an order over all requests.
"""

import logging
from collections.abc import Mapping
from typing import Any

from worker_runtime.config.settings import Settings
from worker_runtime.core.loading import ModelPlan
from worker_runtime.core.manager import Manager
from worker_runtime.core.model import RUN_IN_FRONTENDS, ModelVersion, wants_front_ends
from worker_runtime.frontends.messages import CopyForm

logger = logging.getLogger(__name__)
_BACKEND = "onnxruntime"
_KIND_CPU = 2


class Copying:
    def __init__(self, manager: Manager, settings: Settings) -> None:
        self._manager = manager
        self._never = server_needs(settings)
        self._known: dict[int, tuple[list[bytes], CopyForm | None]] = {}

    def forms(self, models: Mapping[int, ModelVersion]) -> tuple[CopyForm, ...]:
        """How front ends run those of ``models``, by number, that they run: the same objects each
        time, until a model's instances change.
        """
        known, self._known = self._known, {}
        for number, model in models.items():
            if wants_front_ends(model.config.parameters):
                groups = [group.SerializeToString() for group in model.config.instance_group]
                held = known.get(number)
                if held is None or held[0] != groups:
                    held = (groups, self._form(number, model))
                self._known[number] = held
        return tuple([form for _, form in self._known.values() if form is not None])

    def _form(self, number: int, model: ModelVersion) -> CopyForm | None:
        """None: only the core runs it, the log says why."""
        reason = self._never or model_needs(model.config, cached=model.cached)
        if reason:
            logger.warning(
                "model '%s' version %d runs in the core alone, although its parameter '%s' is "
                "true: %s",
                *(model.name, model.version, RUN_IN_FRONTENDS, reason),
            )
            return None
        plan = self._plan(model)
        if plan is None:
            return None
        directory = plan.directory
        return CopyForm(
            number=number,
            name=directory.name,
            version=model.version,
            config=model.config.SerializeToString(),
            path=str(directory.path),
            config_path=str(directory.config_path) if directory.config_path else None,
            files=dict(plan.seen.entries),
        )

    def _plan(self, model: ModelVersion) -> ModelPlan | None:
        for record in self._manager.records.values():
            for held in record.versions.values():
                if held.model is model:
                    return held.plan
        return None


def server_needs(settings: Settings) -> str:
    """Why no model can run in a front end, "" where some can."""
    if settings.rate_limit:
        return "--rate-limit shares resources between all instances of the server"
    if settings.capture is not None:
        return "--capture-config draws among all requests"
    return ""


def model_needs(config: Any, *, cached: bool) -> str:
    """Why a model of that complete ``inference.ModelConfig`` cannot, "" where it can."""
    if config.HasField("ensemble_scheduling"):
        return "it is an ensemble"
    if config.backend != _BACKEND:
        return f"its backend is '{config.backend}', expected '{_BACKEND}'"
    if any(group.kind != _KIND_CPU for group in config.instance_group):
        return "it has instances that are not of KIND_CPU"
    if config.HasField("sequence_batching"):
        return "it has sequence_batching"
    if config.model_transaction_policy.decoupled:
        return "it is decoupled"
    if config.dynamic_batching.preserve_ordering:
        return "it has preserve_ordering"
    return "it has a response cache" if cached else ""
