"""Every upload of the corpus: told by the inspection, refused by the runtime, loaded without."""

from pathlib import Path

import pytest

from tests.support.hostile_uploads import HONEST, HOSTILE, Upload
from worker_runtime.core.loading import LoadingRules, ModelPlan, check_plan, read_plan
from worker_runtime.errors import ConfigInvalid, LoadFailed, RuntimeFault
from worker_runtime.files.contents import kinds_of_head
from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.repository.layout import ModelDirectory, scan
from worker_runtime.types.code import AllowedCode
from worker_runtime.types.instances import Machine

HELD = tuple(upload for upload in HOSTILE if upload.kinds)
NONE = LoadingRules(Machine(cores=2), code=AllowedCode(frozenset()))
ALL = LoadingRules(Machine(cores=2))
# What is seen without its file: a configuration of another name is read only when it is asked for.
BESIDE = {"a configuration beside the usual one"}


def planned(directory: ModelDirectory, rules: LoadingRules) -> ModelPlan:
    """As it is done before anything of the model is opened."""
    plan = read_plan(directory, rules)
    check_plan(plan, rules)
    return plan


def accelerated(name: str, key: str) -> str:
    parameters = f'parameters {{ key: "{key}" value: "x" }}'
    return (
        "optimization { execution_accelerators { gpu_execution_accelerator "
        f'{{ name: "{name}" {parameters} }} }} }}'
    )


def named(upload: Upload) -> str:
    return upload.name


def kinds_found(root: Path) -> set[str]:
    found = inspect_repository(root)
    reasons = found["code"] + [item for model in found["models"] for item in model["code"]]
    assert all(reason["message"].startswith(reason["file"]) for reason in reasons)
    return {reason["kind"] for reason in reasons}


@pytest.mark.parametrize("upload", HELD, ids=named)
def test_the_inspection_tells_what_would_run(upload: Upload, tmp_path: Path) -> None:
    assert kinds_found(upload.write(tmp_path)) >= upload.kinds


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            'parameters { key: "session.a" value { string_value: "1" } }',
            'parameters { key: "session.b" value { string_value: "1" } }',
        ),
        (
            accelerated("tensorrt", "trt_engine_cache_path"),
            accelerated("tensorrt", "trt_ep_context_file_path"),
        ),
        (accelerated("nobody", "key"), accelerated("nobody2", "key")),
    ],
    ids=["session entries", "keys of one accelerator", "accelerators"],
)
def test_another_parameter_of_the_same_value_is_another_reason(
    one: str, other: str, tmp_path: Path
) -> None:
    """Approvals are compared by them: who approved one has not seen the other."""

    def keys(config: str, root: Path) -> set[tuple[str, str, str]]:
        upload = Upload("m", {"m/config.pbtxt": f'backend: "onnxruntime"\n{config}\n'.encode()})
        (model,) = inspect_repository(upload.write(root))["models"]
        assert len(model["code"]) == 1, model["code"]
        return {(item["file"], item["kind"], item["value"]) for item in model["code"]}

    assert keys(one, tmp_path / "one").isdisjoint(keys(other, tmp_path / "other"))


@pytest.mark.parametrize("upload", HONEST, ids=named)
def test_data_is_no_code(upload: Upload, tmp_path: Path) -> None:
    assert kinds_found(upload.write(tmp_path)) == set()


@pytest.mark.parametrize("upload", [x for x in HELD if x.name not in BESIDE], ids=named)
def test_a_runtime_that_allows_no_code_refuses(upload: Upload, tmp_path: Path) -> None:
    (directory,) = scan(upload.write(tmp_path))
    with pytest.raises((LoadFailed, ConfigInvalid)) as refused:
        planned(directory, NONE)
    if isinstance(refused.value, LoadFailed):
        assert refused.value.problem is not None
        assert refused.value.problem.code == "CodeNotAllowed"
        assert "--allow-code" in str(refused.value)
        assert any(f"'{kind}'" in str(refused.value) for kind in upload.kinds)
    else:  # what cannot be used at all is used by no runtime
        with pytest.raises(ConfigInvalid):
            planned(directory, ALL)


@pytest.mark.parametrize("upload", HONEST, ids=named)
def test_a_runtime_that_allows_no_code_takes_data(upload: Upload, tmp_path: Path) -> None:
    (directory,) = scan(upload.write(tmp_path))
    assert planned(directory, NONE).config.backend == "identity"


@pytest.mark.parametrize("upload", [x for x in HOSTILE if x.named], ids=named)
def test_files_from_elsewhere_are_refused_by_name(upload: Upload, tmp_path: Path) -> None:
    root = tmp_path / "models"
    (tmp_path / "secret").write_bytes(b"secret" * 100)
    problems = inspect_repository(upload.write(root))["problems"]
    (told,) = [item for item in problems if "outside the model directory" in item["message"]]
    assert upload.named in told["field"]
    assert "secret" in told["message"]
    for rules in (NONE, ALL):
        with pytest.raises(RuntimeFault, match="outside the model directory") as refused:
            planned(scan(root)[0], rules)
        assert "600" not in str(refused.value)


def test_a_text_is_judged_as_it_was_uploaded_where_the_look_at_it_ends_early(
    tmp_path: Path,
) -> None:
    """It was judged as it would be mended, although that is not proposed without a version."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.pbtxt").write_text('backend: "identitx"')
    (model,) = inspect_repository(tmp_path)["models"]
    assert model["proposal"] is None
    assert [(reason["kind"], reason["value"]) for reason in model["code"]] == [
        ("python", "identitx")
    ]


def test_no_file_is_too_short_to_tell() -> None:
    contents = [data for upload in (*HOSTILE, *HONEST) for data in upload.files.values()]
    for head in {data[:size] for data in contents for size in range(65)}:
        assert all(kind and description for kind, description in kinds_of_head("w.bin", head))
