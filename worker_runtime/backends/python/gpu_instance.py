"""An instance on a GPU: its model takes inputs from clients' device memory and fills it."""

from collections.abc import Mapping

from worker_runtime.backends.base import BackendRequest, Host
from worker_runtime.backends.python.instance import InstanceSpec, PythonInstance
from worker_runtime.backends.python.messages import device_request_message
from worker_runtime.backends.python.process import Message, StubProcess
from worker_runtime.backends.python.regions import RegionLoans, note_placed


class GpuPythonInstance(PythonInstance):
    """``device_inputs``: inputs that lie in device memory stay there."""

    def __init__(self, spec: InstanceSpec, host: Host, *, device_inputs: bool) -> None:
        super().__init__(spec, host)
        self._device_inputs = device_inputs
        self._windows = not spec.decoupled  # why: each answer of a decoupled model fills them anew
        self._loans: RegionLoans | None = None

    def _give(self, process: StubProcess, numbered: Mapping[int, BackendRequest]) -> None:
        loans = self._loans
        if loans is None or loans.process is not process:
            loans = self._loans = RegionLoans(process)
        arena, types = process.channel.arena, self._spec.types
        with loans.sending:
            requests = [
                device_request_message(
                    number,
                    request,
                    types,
                    arena,
                    loans,
                    stay=self._device_inputs,
                    windows=self._windows,
                )
                for number, request in numbered.items()
            ]
            process.send({"op": "execute", "requests": requests})

    def _settle(
        self, outcome: Message, numbered: dict[int, BackendRequest], process: StubProcess
    ) -> None:
        for number, data in outcome.get("answers", ()):
            note_placed(numbered[number], data)
        super()._settle(outcome, numbered, process)

    def _answered(self, message: Message) -> None:
        request = self._request(message["n"])
        if request is not None:
            note_placed(request, message["response"])
        super()._answered(message)
