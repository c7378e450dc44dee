"""Whether the guided search of tunings holds its bar: ``python -m benchmarks.tuning [SECONDS]``.

Three example models of different kinds, on one runtime. Each configuration of the space is measured
once (brute force), then the search is done anew, with a tenth of the runs. The best of brute force
and the chosen one are then measured side by side, in turns, since of a hundred noisy measurements
the greatest is one that had luck. It ends by itself, after about six minutes.
"""

import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks import host
from benchmarks.server import Server, running
from controlplane.tuning.outcome import outcome_of
from controlplane.tuning.search import Measured, choice, next_setting, usual_budget
from controlplane.tuning.space import Setting, Space
from load_client.sweep import run
from load_client.targets import Target
from tests.support import reaper
from wire.load import CONCURRENCY, LoadPlan, LoadPoint

SPACE: Final = Space((1, 2, 3, 4), (1, 2, 4, 8, 16, 32, 64), (0, 200, 1000, 5000))
NOW: Final = Setting(1, 4, 0)  # what is completed where nobody says anything
AT_A_TIME: Final = 32
TURNS: Final = 5
BAR: Final = 0.95
SLEEPER: Final = """
import time
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.003)  # as a call of something else, which takes a batch as soon as one
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("y", pb_utils.get_input_tensor_by_name(one, "x").as_numpy())]
            )
            for one in requests
        ]
"""


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    backend: str
    width: int
    kind: str

    def config(self, setting: Setting) -> dict[str, Any]:
        tensor = {"data_type": "TYPE_FP32", "dims": [self.width]}
        config: dict[str, Any] = {
            "name": self.name,
            "backend": self.backend,
            "max_batch_size": setting.batch,
            "input": [{"name": "x", **tensor}],
            "output": [{"name": "y", **tensor}],
            "instance_group": [{"count": setting.instances, "kind": "KIND_CPU"}],
        }
        if setting.batch > 1:
            config["dynamic_batching"] = {"max_queue_delay_microseconds": setting.delay_us}
        return config


EXAMPLES: Final = (
    Example("tiny", "onnxruntime", 16, "one addition"),
    Example("layers", "onnxruntime", 512, "two layers of 512 x 2048"),
    Example("caller", "python", 16, "Python code that waits 3 ms for something else"),
)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    reaper.guard()
    about = host.about()
    print(f"{about['cpu']}, {about['cores']} cores, load average {about['load_average']:.1f}")
    print(f"{len(SPACE.settings())} configurations, {usual_budget(SPACE)} runs for the search")
    flags = ["--model-control-mode=explicit"]
    with tempfile.TemporaryDirectory(prefix="shoal-tuning-") as folder:
        repository = Path(folder)
        for example in EXAMPLES:
            written(example, repository)
        with running(repository, flags=flags) as server:
            held = [held_bar(example, server, seconds) for example in EXAMPLES]
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")
    return 0 if all(held) else 1


def held_bar(example: Example, server: Server, seconds: float) -> bool:
    began = time.monotonic()
    every = {setting: measured(example, server, setting, seconds) for setting in SPACE.settings()}
    brute_s = time.monotonic() - began
    best = max(every, key=lambda setting: every[setting])
    began = time.monotonic()
    seen: list[Measured] = []
    while (following := next_setting(seen, SPACE, NOW, usual_budget(SPACE)).setting) is not None:
        seen.append(Measured(following, measured(example, server, following, seconds)))
    chosen = choice(seen, SPACE)
    assert chosen is not None
    guided_s = time.monotonic() - began
    found: dict[Setting, list[float]] = {best: [], chosen.setting: [], NOW: []}
    for _ in range(TURNS):
        for setting, values in found.items():
            values.append(measured(example, server, setting, 2 * seconds))
    values = {setting: statistics.median(seen) for setting, seen in found.items()}
    share = values[chosen.setting] / values[best]
    held = share >= BAR and len(seen) * 10 <= len(every)
    print(
        f"{example.name} ({example.kind}):\n"
        f"  today        {NOW}: {values[NOW]:,.0f}/s\n"
        f"  brute force  {best}: {values[best]:,.0f}/s, {len(every)} runs, {brute_s:.0f} s\n"
        f"  guided       {chosen.setting}: {values[chosen.setting]:,.0f}/s, {len(seen)} runs, "
        f"{guided_s:.0f} s\n"
        f"  {share:.1%} of brute force: {'holds' if held else 'BROKEN'}",
        flush=True,
    )
    return held


def measured(example: Example, server: Server, setting: Setting, seconds: float) -> float:
    """Answers a second with this configuration."""
    body = {"parameters": {"config": json.dumps(example.config(setting))}}
    url = f"http://127.0.0.1:{server.http_port}/v2/repository/models/{example.name}/load"
    asked = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(asked, timeout=60) as answer:
        answer.read()
    plan = LoadPlan(example.name, CONCURRENCY, (float(AT_A_TIME),), seconds, warm_up_s=seconds / 3)
    points: list[LoadPoint] = []
    run(plan, Target("127.0.0.1", server.http_port), tell=points.append)
    return outcome_of(points, plan).value or 0.0


def written(example: Example, repository: Path) -> None:
    version = repository / example.name / "1"
    version.mkdir(parents=True)
    (repository / example.name / "config.pbtxt").write_text(f'name: "{example.name}"\n')
    if example.backend == "python":
        (version / "model.py").write_text(SLEEPER)
    else:
        onnx.save(graph(example), version / "model.onnx")


def graph(example: Example) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    width, hidden = example.width, 4 * example.width

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.random(shape, np.float32) / shape[0], name)

    if example.name == "tiny":
        nodes, kept = [helper.make_node("Add", ["x", "x"], ["y"])], []
    else:
        nodes = [
            helper.make_node("MatMul", ["x", "a"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "b"], ["y"]),
        ]
        kept = [weights("a", width, hidden), weights("b", hidden, width)]
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]) for name in "xy"
    ]
    made = helper.make_graph(nodes, example.name, [tensors[0]], [tensors[1]], kept)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(made, opset_imports=opset, ir_version=9)


if __name__ == "__main__":
    sys.exit(main())
