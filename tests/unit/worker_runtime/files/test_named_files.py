"""Every field that names a file stays in the model: the fields are found in the protobuf itself."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tritonclient.grpc import model_config_pb2

from worker_runtime.errors import FileUnreadable
from worker_runtime.files.inside import inside, leaves
from worker_runtime.repository.validation.named_files import leading_out

FILE, TEXT = "names a file", "names no file"
# Every string of a configuration. A new one fails the test below until somebody says what it is.
STRINGS = {
    "ModelConfig.name": TEXT,  # the folder's own, compared with it
    "ModelConfig.platform": TEXT,
    "ModelConfig.backend": TEXT,
    "ModelConfig.runtime": TEXT,  # judged as code; no file is opened by it
    "ModelInput.name": TEXT,
    "ModelOutput.name": TEXT,
    "ModelOutput.label_filename": FILE,
    "BatchInput.target_name": TEXT,
    "BatchInput.source_input": TEXT,
    "BatchOutput.target_name": TEXT,
    "BatchOutput.source_input": TEXT,
    "ModelOptimizationPolicy.Cuda.GraphSpec.InputEntry.key": TEXT,
    "ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound.InputEntry.key": TEXT,
    "ModelOptimizationPolicy.ExecutionAccelerators.Accelerator.name": TEXT,
    "ModelOptimizationPolicy.ExecutionAccelerators.Accelerator.ParametersEntry.key": TEXT,
    "ModelOptimizationPolicy.ExecutionAccelerators.Accelerator.ParametersEntry.value": FILE,
    "ModelSequenceBatching.ControlInput.name": TEXT,
    "ModelSequenceBatching.State.input_name": TEXT,
    "ModelSequenceBatching.State.output_name": TEXT,
    "ModelSequenceBatching.InitialState.data_file": FILE,
    "ModelSequenceBatching.InitialState.name": TEXT,
    "ModelEnsembling.Step.model_name": TEXT,  # a name with a slash is no model's
    "ModelEnsembling.Step.InputMapEntry.key": TEXT,
    "ModelEnsembling.Step.InputMapEntry.value": TEXT,
    "ModelEnsembling.Step.OutputMapEntry.key": TEXT,
    "ModelEnsembling.Step.OutputMapEntry.value": TEXT,
    "ModelEnsembling.Step.model_namespace": TEXT,
    "ModelInstanceGroup.name": TEXT,
    "ModelRateLimiter.Resource.name": TEXT,
    "ModelInstanceGroup.profile": TEXT,  # numbers
    "ModelInstanceGroup.host_policy": TEXT,
    "ModelConfig.default_model_filename": FILE,
    "ModelConfig.CcModelFilenamesEntry.key": TEXT,
    "ModelConfig.CcModelFilenamesEntry.value": FILE,
    "ModelConfig.MetricTagsEntry.key": TEXT,
    "ModelConfig.MetricTagsEntry.value": TEXT,
    "ModelConfig.ParametersEntry.key": TEXT,
    "ModelParameter.string_value": FILE,
    "ModelWarmup.name": TEXT,
    "ModelWarmup.InputsEntry.key": TEXT,
    "ModelWarmup.Input.input_data_file": FILE,
    "ModelOperations.op_library_filename": FILE,
    "ModelRepositoryAgents.Agent.name": TEXT,
    "ModelRepositoryAgents.Agent.ParametersEntry.key": FILE,  # MD5:<file>
    "ModelRepositoryAgents.Agent.ParametersEntry.value": TEXT,
    "ModelMetrics.MetricControl.MetricIdentifier.family": TEXT,
}
# How each of them is written; %s is the file.
WRITTEN = {
    "ModelOutput.label_filename": "output { label_filename: '%s' }",
    "ModelOptimizationPolicy.ExecutionAccelerators.Accelerator.ParametersEntry.value": (
        "optimization { execution_accelerators { gpu_execution_accelerator { name: 'tensorrt' "
        "parameters { key: 'trt_extra_plugin_lib_paths' value: 'x;%s' } } } }"
    ),
    "ModelSequenceBatching.InitialState.data_file": (
        "sequence_batching { state { initial_state { data_file: '%s' } } }"
    ),
    "ModelConfig.default_model_filename": "default_model_filename: '%s'",
    "ModelConfig.CcModelFilenamesEntry.value": "cc_model_filenames { key: '7.5' value: '%s' }",
    "ModelParameter.string_value": (
        "parameters { key: 'CPU_EXTENSION_PATH' value { string_value: '%s' } }"
    ),
    "ModelWarmup.Input.input_data_file": (
        "model_warmup { inputs { key: 'x' value { input_data_file: '%s' } } }"
    ),
    "ModelOperations.op_library_filename": "model_operations { op_library_filename: '%s' }",
    "ModelRepositoryAgents.Agent.ParametersEntry.key": (
        "model_repository_agents { agents { name: 'checksum' parameters { key: 'MD5:%s' } } }"
    ),
}
OUT = ("../../../secret", "/secret", "1/../../../secret", "a/../../../../secret", "x\\000/../..")


def strings(message: Any, seen: set[str]) -> Iterator[str]:
    for field in message.fields:
        inner = field.message_type
        if inner is not None and inner.full_name not in seen:
            seen.add(inner.full_name)
            yield from strings(inner, seen)
        if field.cpp_type == field.CPPTYPE_STRING:
            yield field.full_name.removeprefix("inference.")


def parsed(text: str) -> Any:
    from google.protobuf import text_format

    return text_format.Parse(text, model_config_pb2.ModelConfig(), allow_unknown_field=False)


def test_every_string_of_the_protobuf_is_classified() -> None:
    found = set(strings(model_config_pb2.ModelConfig.DESCRIPTOR, set()))
    assert found == set(STRINGS), "say what the new string is"
    speaking = {
        name for name in found if re.search(r"(?<!pro)file|path|dir", name.rpartition(".")[2])
    }
    assert speaking <= {name for name, kind in STRINGS.items() if kind == FILE}
    assert set(WRITTEN) == {name for name, kind in STRINGS.items() if kind == FILE}


@pytest.mark.parametrize("value", OUT)
@pytest.mark.parametrize("field", WRITTEN)
def test_no_field_leads_out(field: str, value: str) -> None:
    (problem,) = leading_out(parsed(WRITTEN[field] % value), strict=True)
    assert "outside the model directory" in problem.message
    assert problem.field
    assert problem.severity == "error"


@pytest.mark.parametrize("field", WRITTEN)
def test_files_of_the_model_may_be_named(field: str) -> None:
    assert list(leading_out(parsed(WRITTEN[field] % "a/b"), strict=True)) == []


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ("$$TRITON_MODEL_DIRECTORY/e.tar.gz", False),
        ("$$TRITON_MODEL_DIRECTORY/../shared/e.tar.gz", False),
        ("$$TRITON_MODEL_DIRECTORY/../../e.tar.gz", True),
        ("/opt/e.tar.gz", True),
        ("/opt/$$TRITON_MODEL_DIRECTORY/e", True),
    ],
)
def test_environments_lie_in_the_repository(value: str, refused: bool) -> None:
    text = f"parameters {{ key: 'EXECUTION_ENV_PATH' value {{ string_value: '{value}' }} }}"
    assert bool(list(leading_out(parsed(text), strict=True))) == refused
    assert list(leading_out(parsed(text), strict=False)) == [], "Triton takes any path"


def test_triton_takes_libraries_from_anywhere() -> None:
    text = WRITTEN["ModelOperations.op_library_filename"] % "/opt/x.so"
    assert list(leading_out(parsed(text), strict=False)) == []


def test_links_are_followed_before_they_are_judged(tmp_path: Path) -> None:
    model = tmp_path / "m"
    (model / "warmup").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (model / "mine").write_text("y")
    (model / "warmup" / "out").symlink_to(tmp_path / "secret")
    (model / "warmup" / "up").symlink_to(tmp_path)
    (model / "warmup" / "in").symlink_to(model / "mine")
    (model / "warmup" / "ring").symlink_to(model / "warmup" / "ring")
    assert inside(model, "in", "f", base="warmup") == (model / "mine").resolve()
    for name in ("out", "up/secret", "ring", "gone", "", "..", "../../secret"):
        with pytest.raises(FileUnreadable) as refused:
            inside(model, name, "f", base="warmup")
        assert refused.value.problems[0].field == "f"


def test_devices_and_pipes_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(FileUnreadable, match="no plain file"):
            inside(tmp_path, name, "f")


def test_hard_links_are_files_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "blob").write_text("x")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "w").hardlink_to(tmp_path / "blob")
    assert inside(tmp_path / "m", "w", "f").read_text() == "x"


def test_a_model_that_is_a_link_itself_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "w").write_text("x")
    (tmp_path / "m").symlink_to(tmp_path / "real")
    assert inside(tmp_path / "m", "w", "f").read_text() == "x"


def test_names_with_dots_that_stay_are_names() -> None:
    assert not leaves("..a/b")
    assert not leaves("../1/w", "warmup")
    assert leaves("../../w", "warmup")
