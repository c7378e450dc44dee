"""Loads Python models: a process per instance, configured by their own code if they like."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from google.protobuf import json_format

from worker_runtime.backends.attempt import side_by_side
from worker_runtime.backends.base import Instance, LoadSpec, Placement
from worker_runtime.backends.python.environment import interpreter
from worker_runtime.backends.python.gpu_instance import GpuPythonInstance
from worker_runtime.backends.python.instance import InstanceSpec, PythonInstance
from worker_runtime.backends.python.process import (
    Command,
    Message,
    StubProcess,
    resident_bytes,
)
from worker_runtime.backends.python.stub.shoal_stub.channel import Closed
from worker_runtime.errors import ConfigInvalid, LoadFailed, Problem
from worker_runtime.types.backends import SHARED_FILE
from worker_runtime.types.code import PYTHON
from worker_runtime.types.signature import ModelGraph
from worker_runtime.types.tensor import BY_NUMBER

_MIB = 1 << 20
EXECUTE_TIMEOUT = "EXECUTE_TIMEOUT_SECONDS"
MEMORY_LIMIT = "MEMORY_LIMIT_MB"
SHARED_LIMIT = "SHARED_MEMORY_LIMIT_MB"
CPU_ONLY = "FORCE_CPU_ONLY_INPUT_TENSORS"
STUB_TIMEOUT = "stub-timeout-seconds"
DEBUG_PORT = "debug-port"
_STUB_TIMEOUT_S = 30


class PythonModel:
    """``graph`` is None: what the code says of itself is completed before it is loaded."""

    graph: ModelGraph | None = None
    inline: Instance | None = None
    interruptible = True  # closing kills what runs

    def __init__(self, instances: Sequence[PythonInstance]) -> None:
        self.instances = instances

    @property
    def memory(self) -> tuple[tuple[str, int, int], ...]:
        """What the processes have in memory now, in bytes, as the statistics show it."""
        return (("CPU", 0, sum(resident_bytes(pid) for pid in self.pids)),)

    def ready(self) -> bool:
        """Every instance's process lives, and its ``is_ready`` said so at most seconds ago."""
        return all(instance.ready for instance in self.instances)

    @property
    def pids(self) -> list[int]:
        """The processes, whose memory and CPU time belong to this model."""
        return [instance.pid for instance in self.instances]

    def close(self) -> None:
        # why side by side: each may take its time to finalize
        side_by_side([instance.close for instance in self.instances])


class PythonBackend:
    def __init__(self) -> None:
        self._debugged: dict[str, int] = {}  # by instance: how many came before it

    def load(self, spec: LoadSpec) -> PythonModel:
        """Start and initialise every instance, side by side; the first that fails ends the others.

        Raises LoadFailed with the model's own words.
        """
        host = spec.host
        if host is None:
            raise LoadFailed(f"model '{spec.name}': Python models need a server around them")
        _check_file(spec)
        python, environment = interpreter(spec)
        device_inputs = not _is_cpu_only(spec)
        instances: list[PythonInstance] = []
        for place in spec.placements:
            command = _command(spec, place.name, python, environment)
            about = _instance_spec(spec, place, command, self._debug_port(spec, place.name))
            if place.gpu is None:
                instances.append(PythonInstance(about, host))
            else:
                instances.append(GpuPythonInstance(about, host, device_inputs=device_inputs))
        model = PythonModel(instances)
        try:
            side_by_side([partial(one.start, spec.attempt) for one in instances], model.close)
        except BaseException:
            model.close()
            raise
        return model

    def _debug_port(self, spec: LoadSpec, name: str) -> int:
        """Of an instance, the same each time that it is loaded; 0 for none."""
        first = _number(spec, DEBUG_PORT, spec.backend_settings)
        return first and first + self._debugged.setdefault(name, len(self._debugged))

    def auto_complete(self, spec: LoadSpec) -> None:
        """Let the model's ``auto_complete_config`` change ``spec.config`` in place.

        It runs in a process of its own whose state is lost. Raises LoadFailed.
        """
        _check_file(spec)
        python, environment = interpreter(spec)
        found = _Completion()
        name = f"{spec.name}_{spec.version}_auto_complete"
        process = StubProcess(
            _command(spec, name, python, environment), found.on_message, found.on_exit
        )
        spec.attempt.on_give_up(process.kill)
        try:
            process.send(
                {
                    "op": "auto_complete",
                    "path": str(spec.path),
                    "file": _file(spec),
                    "shared": str(spec.shared_code or ""),
                    "model": spec.name,
                    "config": _config_json(spec.config),
                }
            )
            reply = found.wait()
        except Closed:
            reply = None
        finally:
            spec.attempt.forget(process.kill)
            process.stop(1.0)
        if reply is None:
            lines = "\n".join(process.last_lines)
            raise LoadFailed(
                f"the model's process ended: {process.end}. {lines}".strip(), kind="Internal"
            )
        if reply["op"] == "failed":
            raise LoadFailed(reply["message"], kind="Internal")
        if reply["config"] is not None:
            _replace(spec.config, reply["config"])


class _Completion:
    """Waits for the one answer of a process that completes a configuration."""

    def __init__(self) -> None:
        self._answers: SimpleQueue[Message | None] = SimpleQueue()

    def on_message(self, message: Message) -> None:
        if message["op"] in ("completed", "failed"):
            self._answers.put(message)

    def on_exit(self, _process: StubProcess) -> None:
        self._answers.put(None)

    def wait(self) -> Message | None:
        return self._answers.get()


def _file(spec: LoadSpec) -> str:
    """What holds the code. A shared backend reads the model's own file itself, if it has one."""
    return SHARED_FILE if spec.shared_code is not None else spec.filename or SHARED_FILE


def _check_file(spec: LoadSpec) -> None:
    spec.code.demand(PYTHON, spec.name, f"{spec.version}/{_file(spec)}", "is Python code")
    path = (spec.shared_code or spec.path) / _file(spec)
    if not path.is_file():
        message = f"Python model file not found in '{spec.path.parent / _file(spec)}' or '{path}'"
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name), "Internal")


def _command(
    spec: LoadSpec, name: str, python: Path | None, environment: dict[str, str]
) -> Command:
    return Command(
        name=name,
        python=str(python) if python is not None else sys.executable,
        environment=environment,
        memory_bytes=_number(spec, MEMORY_LIMIT) * _MIB,
        shared_bytes=_number(spec, SHARED_LIMIT) * _MIB,
    )


def _number(spec: LoadSpec, key: str, among: Mapping[str, str] | None = None) -> int:
    """A whole number among the model's parameters, 0 without it. Raises ConfigInvalid."""
    value = (spec.parameters if among is None else among).get(key, "")
    if not value:
        return 0
    if not value.isdigit():
        message = f"parameter '{key}' of model '{spec.name}' is '{value}', expected a whole number"
        problem = Problem("ConfigInvalid", message, model=spec.name, field="parameters")
        raise ConfigInvalid(message, (problem,))
    return int(value)


def _instance_spec(
    spec: LoadSpec, place: Placement, command: Command, debug_port: int
) -> InstanceSpec:
    decoupled = bool(spec.config.model_transaction_policy.decoupled)
    start = {
        "op": "initialize",
        "path": str(spec.path),
        "file": _file(spec),
        "shared": str(spec.shared_code or ""),
        "decoupled": decoupled,
        "on_gpu": place.gpu is not None,
        "debug_port": debug_port,
        "args": {
            "model_config": _config_json(spec.config),
            "model_instance_kind": "CPU" if place.gpu is None else "GPU",
            "model_instance_name": place.name,
            "model_instance_device_id": str(place.gpu or 0),
            "model_repository": str(spec.path.parent),
            "model_version": str(spec.version),
            "model_name": spec.name,
        },
    }
    timeout = _number(spec, STUB_TIMEOUT, spec.backend_settings) or _STUB_TIMEOUT_S
    return InstanceSpec(
        model=spec.name,
        command=command,
        start=start,
        types=_types(spec.config),
        caller=(spec.name, str(spec.version)),
        decoupled=decoupled,
        start_timeout_s=float(timeout),
        # who stops at a line takes longer than any limit
        execute_timeout_s=0.0 if debug_port else float(_number(spec, EXECUTE_TIMEOUT)),
    )


def _is_cpu_only(spec: LoadSpec) -> bool:
    """Inputs that lie on a device come to the host unless the model says no.

    Raises ConfigInvalid.
    """
    value = spec.parameters.get(CPU_ONLY, "yes")
    if value not in ("yes", "no"):
        message = f"parameter '{CPU_ONLY}' of model '{spec.name}' is '{value}', expected yes or no"
        problem = Problem("ConfigInvalid", message, model=spec.name, field="parameters")
        raise ConfigInvalid(message, (problem,))
    return value == "yes"


def _types(config: Any) -> dict[str, str]:
    """Data types of the inputs, those that a sequence scheduler adds included."""
    types = {item.name: BY_NUMBER[item.data_type].name for item in config.input}
    for control in config.sequence_batching.control_input:
        for part in control.control:
            number = part.data_type or _control_number(part)
            types[control.name] = BY_NUMBER[number].name
    for state in config.sequence_batching.state:
        types[state.input_name] = BY_NUMBER[state.data_type].name
    return types


def _control_number(part: Any) -> int:
    """The data type of a START, END or READY control, by the pair of values that it gives."""
    if part.fp32_false_true:
        return 11
    return 1 if part.bool_false_true else 8


def _config_json(config: Any) -> str:
    data = json_format.MessageToDict(
        config, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return json.dumps(_with_numbers(data, config.DESCRIPTOR))


_LONG = {3, 4, 6, 16, 18}  # descriptor types of 64-bit integers, which JSON has as strings


def _with_numbers(data: Any, descriptor: Any) -> Any:
    """``data`` in the order in which the message declares its fields, as Triton prints it."""
    found: dict[str, Any] = {}
    for field in descriptor.fields:
        if field.name not in data:
            continue
        value, message = data[field.name], field.message_type
        if field.type in _LONG:
            value = [int(v) for v in value] if isinstance(value, list) else int(value)
        elif message is not None and not message.GetOptions().map_entry:
            if isinstance(value, list):
                value = [_with_numbers(item, message) for item in value]
            else:
                value = _with_numbers(value, message)
        found[field.name] = value
    return found


def _replace(config: Any, data: dict[str, Any]) -> None:
    """Take over what the model made of its configuration. Raises LoadFailed."""
    try:
        config.CopyFrom(json_format.ParseDict(data, type(config)()))
    except json_format.ParseError as error:
        raise LoadFailed(
            f"auto_complete_config gave a configuration that is none: {error}"
        ) from error
