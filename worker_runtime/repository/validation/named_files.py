"""Every file that a configuration names, with its field: all of them must lie in the model."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from worker_runtime.errors import Problem
from worker_runtime.files.inside import leaves
from worker_runtime.repository.agents import CHECKSUM
from worker_runtime.repository.code.parameters import accelerator_kind, parameter_kind
from worker_runtime.repository.validation.findings import finding
from worker_runtime.types.code import ENVIRONMENT, FILES, LIBRARY

MODEL_DIRECTORY: Final = "$$TRITON_MODEL_DIRECTORY"
_VERSION: Final = "1"  # any: what a name leads to is the same for all of them
_PATHS: Final = (FILES, LIBRARY)
_ADDRESSES: Final = ("gpu_external", "user_compute_stream", "has_user_compute_stream")
_SWITCHES: Final = ("trt_dump_subgraphs", "trt_dump_ep_context_model")


class NamedFile(Struct, frozen=True):
    """``value`` is taken from ``base`` below the model's folder.

    ``code``: what Triton itself may load from anywhere, so it only has to be inside where code is
    limited. ``root``: it may also be elsewhere in the repository, beside the model's folder.
    """

    field: str
    value: str
    base: str = ""
    code: bool = False
    root: bool = False

    @property
    def leaves(self) -> bool:
        if self.root:  # from the repository, in which the model's folder is one of the first
            return leaves(self.value, "model")
        return leaves(self.value, self.base)


def leading_out(config: Any, *, strict: bool) -> Iterator[Problem]:
    """Findings about names that lead out; ``strict``: of libraries and environments, too."""
    for named in named_files(config):
        if named.leaves and (strict or not named.code):
            yield finding(
                named.field,
                f"'{named.field}' of model '{config.name}' names a file outside the model "
                f"directory: '{named.value[:200]}'",
                got=named.value[:200],
                expected="a relative path that stays in the model's folder",
            )


def named_files(config: Any) -> Iterator[NamedFile]:
    """In the order of the fields; empty names name nothing."""
    return (named for named in _named(config) if named.value)


def _named(config: Any) -> Iterator[NamedFile]:
    for number, output in enumerate(config.output):
        yield NamedFile(f"output[{number}].label_filename", output.label_filename)
    for number, state in enumerate(config.sequence_batching.state):
        for index, initial in enumerate(state.initial_state):
            field = f"sequence_batching.state[{number}].initial_state[{index}].data_file"
            yield NamedFile(field, initial.data_file, "initial_state")
    for number, sample in enumerate(config.model_warmup):
        for name, item in sorted(sample.inputs.items()):
            field = f'model_warmup[{number}].inputs["{name}"].input_data_file'
            yield NamedFile(field, item.input_data_file, "warmup")
    yield NamedFile("default_model_filename", config.default_model_filename, _VERSION)
    for key, value in sorted(config.cc_model_filenames.items()):
        yield NamedFile(f'cc_model_filenames["{key}"]', value, _VERSION)
    for number, agent in enumerate(config.model_repository_agents.agents):
        for key in sorted(agent.parameters) if agent.name == CHECKSUM else ():
            field = f"model_repository_agents.agents[{number}].parameters"
            yield NamedFile(field, key.partition(":")[2])
    for number, name in enumerate(config.model_operations.op_library_filename):
        yield NamedFile(f"model_operations.op_library_filename[{number}]", name, code=True)
    for key, parameter in sorted(config.parameters.items()):
        yield from _of_parameter(key, parameter.string_value)
    yield from _of_accelerators(config.optimization.execution_accelerators)


def _of_parameter(key: str, value: str) -> Iterator[NamedFile]:
    kind, field = parameter_kind(key, value), f'parameters["{key}"]'
    if kind == ENVIRONMENT:
        inner = value.replace(MODEL_DIRECTORY, ".", 1) if MODEL_DIRECTORY in value else value
        yield NamedFile(field, inner, code=True, root=True)
    elif kind in _PATHS:
        yield NamedFile(field, value, code=True)


def _of_accelerators(accelerators: Any) -> Iterator[NamedFile]:
    for side in ("gpu_execution_accelerator", "cpu_execution_accelerator"):
        for number, wanted in enumerate(getattr(accelerators, side)):
            field = f"optimization.execution_accelerators.{side}[{number}].parameters"
            for key, value in sorted(wanted.parameters.items()):
                if key.startswith(_ADDRESSES) or key in _SWITCHES:
                    continue
                if accelerator_kind(wanted.name, key) in _PATHS:
                    for path in value.split(";"):
                        yield NamedFile(f'{field}["{key}"]', path, code=True)
