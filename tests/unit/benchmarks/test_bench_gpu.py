"""The GPU benchmark's arithmetic, and that it sees answers that are wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from benchmarks import gpu, gpu_catalog, gpu_models, gpu_report
from benchmarks.gpu_answers import Answers, wrong_rows
from benchmarks.gpu_catalog import LIBRARIES, Point

EXPECTED = np.arange(32, dtype=np.float16).reshape(8, 4) / 31


def test_a_wrong_row_is_one_that_is_far_from_the_expected() -> None:
    near = EXPECTED + np.float16(0.01)
    assert wrong_rows(near, EXPECTED, 0.03, 1.0) == 0
    assert wrong_rows(near, EXPECTED, 0.001, 1.0) == 8
    assert wrong_rows(near, EXPECTED, 0.03, 0.1) == 8
    far = near.copy()
    far[3, 1], far[5, 0] = np.nan, np.inf
    assert wrong_rows(far, EXPECTED, 0.03, 1.0) == 2
    assert wrong_rows(near[:4], EXPECTED, 0.03, 1.0) == 8


def test_a_single_row_of_small_values_may_be_as_far_off_as_any_other() -> None:
    answers = Answers(EXPECTED, 1, 0.03)
    answers.compare(0, (EXPECTED[:1] + np.float16(0.02)).tobytes())
    answers.compare(0, EXPECTED[1:2].tobytes())
    assert (answers.checked, answers.wrong) == (2, 1)


def test_an_answer_of_another_request_is_wrong_also_where_it_was_right_before() -> None:
    answers = Answers(EXPECTED, 2, 0.03)
    mine, other = EXPECTED[[7, 0]].tobytes(), EXPECTED[[3, 4]].tobytes()
    answers.compare(7, mine)
    answers.compare(3, other)
    answers.compare(7, mine)
    assert (answers.checked, answers.wrong) == (6, 0)
    answers.compare(7, other)
    answers.compare(3, other[:-2])
    assert (answers.checked, answers.wrong) == (10, 4)


@pytest.mark.parametrize(("items", "compared"), [(8, 16), (1 << 18, 2)])
def test_large_answers_are_compared_now_and_then(items: int, compared: int) -> None:
    answers = Answers(np.zeros((8, items), np.float32), 2, 0.0)
    assert sum(answers.due() for _ in range(16)) == compared


@pytest.mark.parametrize("tiny", [True, False])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("key", LIBRARIES)
def test_every_model_has_a_config_that_triton_can_read(key: str, device: str, tiny: bool) -> None:
    model = gpu_catalog.models(tiny=tiny, half=True)[key]
    for library in LIBRARIES[key]:
        text = gpu_models.config(model, library, device, 2)
        config = text_format.Parse(text, model_config_pb2.ModelConfig())
        assert config.name == gpu_catalog.served(key, library)
        (group,) = config.instance_group
        kind = "KIND_CPU" if device == "cpu" else "KIND_GPU"
        assert (group.count, group.Kind.Name(group.kind)) == (2, kind)
        assert max(model.batches) <= config.max_batch_size
        assert [tuple(item.dims) for item in config.input] == [item.shape for item in model.inputs]


@pytest.mark.parametrize("key", LIBRARIES)
def test_samples_differ_from_one_another_and_have_the_shape_of_their_input(key: str) -> None:
    model = gpu_catalog.models(tiny=True, half=True)[key]
    feeds = gpu_models.inputs(model)
    for item in model.inputs:
        assert feeds[item.name].shape == (gpu_catalog.SAMPLES, *item.shape)
        assert feeds[item.name].dtype == gpu_models.NUMPY[item.datatype]
    first = feeds[model.inputs[0].name].reshape(gpu_catalog.SAMPLES, -1)
    assert len(np.unique(first, axis=0)) == gpu_catalog.SAMPLES


def test_a_network_whose_answers_cannot_be_told_apart_is_refused() -> None:
    model = gpu_catalog.models(tiny=True, half=True)["bert"]
    gpu_models.tell_apart(model, np.eye(gpu_catalog.SAMPLES))
    with pytest.raises(ValueError, match="two samples' answers differ"):
        gpu_models.tell_apart(model, np.ones((gpu_catalog.SAMPLES, 4)))


def test_each_point_is_measured_once_and_is_of_a_model_that_is_made() -> None:
    points = gpu_catalog.points()
    assert len({str(point) for point in points}) == len(points)
    assert {(point.model, point.library) for point in points} == {
        (key, library) for key, libraries in LIBRARIES.items() for library in libraries
    }
    under_way = {(point.under_way, point.batch) for point in points if point.model == "resnet50"}
    assert under_way == {(1, 1), (8, 1), (32, 1), (64, 1), (128, 1), (16, 8), (4, 64)}


@pytest.mark.parametrize(
    ("only", "chosen"),
    [
        (["bert_pytorch grpc 16x8"], 1),
        (["large"], 2),
        (["http"], 2),
        (["cuda"], 0),  # on a CPU there is no such memory
    ],
)
def test_only_names_what_is_measured(only: list[str], chosen: int) -> None:
    given = [f"--only={name}" for name in only]
    options = gpu.arguments(["--device=cpu", "--tiny", "--quick", *given])
    assert sum(gpu._chosen(point, options) for point in gpu_catalog.points()) == chosen


def figures(point: Point, per_second: float, **changed: Any) -> dict[str, Any]:
    known = {"busy": 0.97, "checked": 50_000, "wrong": 0, "errors": 0, "server_failures": 0}
    return {
        "model": point.model, "library": point.library, "transport": point.transport,
        "under_way": point.under_way, "batch": point.batch, "frontends": point.frontends,
        "per_second": per_second, **known, **changed,
    }  # fmt: skip


def body(*points: dict[str, Any]) -> Mapping[str, list[dict[str, Any]]]:
    limits = [
        {"model": "bert", "library": "pytorch", "batch": size, "per_second": rate}
        for size, rate in ((1, 50.0), (64, 100.0))
    ]
    return {"limits": limits, "points": list(points)}


def test_a_bar_is_the_best_load_beside_the_best_batch_of_the_bare_loop() -> None:
    few = figures(Point("bert", "pytorch", "grpc", 1), 20.0)
    many = figures(Point("bert", "pytorch", "http", 128), 96.0)
    scaled = figures(Point("bert", "pytorch", "grpc", 128, frontends=8), 99.0)
    assert gpu_report.verdicts(body(few, many, scaled)) == [
        (True, "bert_pytorch: 96% of the bare loop by http 128x1 (wanted 95%)"),
        (True, "bert_pytorch: GPU busy 97% then (wanted 95%)"),
        (True, "0 wrong answers of 150,000 (wanted 0 of 100,000)"),
    ]
    kept = [met for met, _ in gpu_report.verdicts(body(few, many | {"busy": 0.5, "wrong": 1}))]
    assert kept == [True, False, False]


def test_shared_memory_is_held_against_grpc_at_the_same_load() -> None:
    points = [
        figures(Point("plus_one", "onnxruntime", transport, 4, 32), rate)
        for transport, rate in (("grpc", 100.0), ("cuda", 140.0))
    ]
    assert gpu_report.verdicts(body(*points))[0] == (
        False,
        "CUDA shared memory, 4 under way of 32 items: 1.4 times gRPC (wanted 1.5)",
    )


@pytest.mark.parametrize(
    ("changed", "good"),
    [({}, True), ({"wrong": 1}, False), ({"errors": 1}, False), ({"server_failures": 2}, False)],
)
def test_results_are_good_when_nothing_failed(
    tmp_path: Path, changed: dict[str, int], good: bool
) -> None:
    results = gpu_report.Results(tmp_path / "found.json", {"at": "2026-01-01T10:00:00"})
    results.add("points", figures(Point("bert", "pytorch", "grpc", 1), 20.0, **changed))
    assert results.good() is good
    results.add("failures", {"what": "loading", "why": "no memory"})
    assert not results.good()


def test_each_server_s_log_lies_beside_the_results(tmp_path: Path) -> None:
    results = gpu_report.Results(tmp_path / "found.json", {"at": "2026-01-01T10:00:00"})
    names = [results.log(frontends).name for frontends in gpu_catalog.FRONTENDS]
    assert names == ["found.log", "found.4-front-ends.log", "found.8-front-ends.log"]
