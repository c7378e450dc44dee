"""Where an ensemble request spent its time, told with its answer to who asks for it."""

import msgspec

from worker_runtime.core.scheduling.ensemble.graph import Step
from worker_runtime.types.request import InferRequest, ParameterValue

WISH = "shoal_step_timings"  # a request parameter, and the response parameter that answers it


class StepTimings:
    """The steps of one request that are over, in the order in which they ended."""

    def __init__(self) -> None:
        self._rows: list[dict[str, str | int]] = []

    @classmethod
    def wished(cls, request: InferRequest) -> "StepTimings | None":
        """None unless the request has the parameter, and it is true."""
        return cls() if request.parameters and request.parameters.get(WISH) is True else None

    def add(self, step: Step, request: InferRequest) -> None:
        """One execution of ``step``; times are whole microseconds."""
        start, fed, computed, end = request.timings
        self._rows.append(
            {
                "step": step.index,
                "model": step.model,
                "queue_us": (start - request.queued_ns) // 1000,
                "compute_input_us": (fed - start) // 1000,
                "compute_infer_us": (computed - fed) // 1000,
                "compute_output_us": (end - computed) // 1000,
            }
        )

    def beside(self, parameters: dict[str, ParameterValue] | None) -> dict[str, ParameterValue]:
        """``parameters`` and the timings as JSON text."""
        return {**(parameters or {}), WISH: msgspec.json.encode(self._rows).decode()}
