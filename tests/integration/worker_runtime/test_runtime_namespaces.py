"""--model-namespacing: one name in two repositories, both served; ensembles call their own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http_client
from tritonclient.utils import InferenceServerException

from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration
TIMES = """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", x * FACTOR)]))
        return answers
"""
WHOLE = """
platform: "ensemble"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [-1] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [-1] }
ensemble_scheduling { step { model_name: "PART" model_version: -1
  input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } }
"""


def times(root: Path, name: str, factor: int, config: str = "") -> None:
    pm.add(root, name, TIMES.replace("FACTOR", f"np.float32({factor})"), config=config)


def whole(root: Path, name: str, part: str) -> None:
    (root / name / "1").mkdir(parents=True)
    (root / name / "config.pbtxt").write_text(WHOLE.replace("PART", part))


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """`times` in both, each with an ensemble of it; `only` in the second, for one of the first."""
    one, two = tmp_path / "one", tmp_path / "two"
    cached = "response_cache { enable: true }"
    times(one, "times", 2, cached)
    whole(one, "double", "times")
    whole(one, "far", "only")
    times(two, "times", 3, cached)
    whole(two, "triple", "times")
    times(two, "only", 5)
    return one, two


@pytest.fixture
def server(roots: tuple[Path, Path]) -> Iterator[Runtime]:
    flags = (
        f"--model-repository={roots[1]}",
        "--model-namespacing=true",
        "--model-control-mode=explicit",
        "--load-model=*",
        "--cache-config=local,size=1048576",
    )
    with runtime(roots[0], *flags) as found:
        yield found


def ask(server: Runtime, model: str) -> float:
    given = http_client.InferInput("INPUT0", [1], "FP32")
    given.set_data_from_numpy(np.ones(1, np.float32))
    with http_client.InferenceServerClient(server.http) as client:
        return float(client.infer(model, [given]).as_numpy("OUTPUT0")[0])


AMBIGUOUS = (
    "There are 2 identifiers of model 'times' in global map, model namespace must be provided to "
    "resolve ambiguity."
)


def test_ensembles_call_the_model_of_their_own_repository(
    server: Runtime, roots: tuple[Path, Path]
) -> None:
    for _ in range(2):  # the second time from the cache
        assert (ask(server, "double"), ask(server, "triple")) == (2, 3)
    assert ask(server, "far") == 5  # the only one of its name
    assert ask(server, "only") == 5
    steps = server.json("v2/models/far/config")[1]["ensemble_scheduling"]["step"]
    assert steps[0]["model_namespace"] == str(roots[1])
    lines = [line for line in server.metrics().splitlines() if 'model="times"' in line]
    for root in roots:
        assert any(f'namespace="{root}"' in line for line in lines)


def test_a_name_that_stands_for_two_is_no_name(server: Runtime) -> None:
    with pytest.raises(InferenceServerException, match="There are 2 identifiers"):
        ask(server, "times")
    for path in ("", "/ready", "/config", "/stats"):
        assert server.json(f"v2/models/times{path}") == (400, {"error": AMBIGUOUS})
    rows = server.json("v2/repository/index", {})[1]
    assert [row["name"] for row in rows if row["state"] == "READY"].count("times") == 2
    assert server.call("v2/health/ready")[0] == 200
    assert {row["name"] for row in server.json("v2/models/stats")[1]["model_stats"]} == {
        "double", "far", "only", "times", "triple",
    }  # fmt: skip


def test_loading_and_unloading_mean_all_of_a_name(
    server: Runtime, roots: tuple[Path, Path]
) -> None:
    assert server.call("v2/repository/models/times/unload", b"{}")[0] == 200
    for name in ("double", "triple"):
        with pytest.raises(InferenceServerException):
            ask(server, name)
    assert ask(server, "far") == 5
    assert server.call("v2/repository/models/times/load", b"{}")[0] == 200
    assert (ask(server, "double"), ask(server, "triple")) == (2, 3)
    (roots[0] / "times" / "1" / "model.py").write_text("1 /\n")
    status, answer = server.json("v2/repository/models/times/load", {})
    assert status == 400
    assert answer["error"].startswith(f"load failed for model '{roots[0]}::times': version 1 is at")
    assert (ask(server, "double"), ask(server, "triple")) == (2, 3)  # the old one serves on


def test_what_comes_and_goes_changes_whom_ensembles_call(roots: tuple[Path, Path]) -> None:
    one, two = roots
    flags = (
        f"--model-repository={two}",
        "--model-namespacing=1",
        "--model-control-mode=poll",
        "--repository-poll-secs=1",
        "--strict-readiness=false",
    )
    with runtime(one, *flags) as server:
        assert ask(server, "far") == 5
        times(one, "only", 7)
        wait_until(lambda: ask(server, "far") == 7, "the nearer model")
        shutil.rmtree(one / "only")
        wait_until(lambda: ask(server, "far") == 5, "the farther one again")
        shutil.rmtree(two / "only")
        wait_until(lambda: server.call("v2/models/far/ready")[0] != 200, "no model at all")


def test_without_the_flag_neither_is_served(roots: tuple[Path, Path]) -> None:
    flags = (f"--model-repository={roots[1]}", "--exit-on-error=false")
    with runtime(roots[0], *flags, ready=False) as server:
        wait_until(lambda: server.call("v2/models/only/ready")[0] == 200, "the second repository")
        assert server.call("v2/models/times/ready")[0] == 404
        assert server.call("v2/models/double/ready")[0] != 200
