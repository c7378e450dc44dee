"""The inference server inside a program: two models, batching, a stream; no port is opened.

    python examples/in_process/run.py

The repository is the same that `python -m worker_runtime` would serve.
"""

import tempfile
from concurrent.futures import wait
from pathlib import Path

import numpy as np

from worker_runtime import InferenceServer

SCALE = '''
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Sees whole batches: requests that wait together come together."""

    def execute(self, requests):
        print(f"scale: a batch of {len(requests)}")
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", x * np.float32(2))]))
        return answers
'''

SCALE_CONFIG = """
backend: "python"
max_batch_size: 16
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
dynamic_batching { max_queue_delay_microseconds: 2000 }
instance_group { kind: KIND_CPU count: 1 }
"""

REPEAT_CONFIG = """
backend: "repeat"
model_transaction_policy { decoupled: true }
input [
  { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
  { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
  { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
]
output [
  { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] },
  { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
]
"""


def write(repository: Path) -> None:
    for name, config in (("scale", SCALE_CONFIG), ("repeat", REPEAT_CONFIG)):
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "config.pbtxt").write_text(config)
    (repository / "scale" / "1" / "model.py").write_text(SCALE)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        with InferenceServer(folder, log_info=False) as server:
            print("models:", [row["name"] for row in server.index()])

            one = server.infer("scale", {"x": np.array([[1, 2, 3]], np.float32)})
            print("one call:", one["y"].tolist())

            futures = [
                server.submit("scale", {"x": np.full((1, 4), i, np.float32)}) for i in range(32)
            ]
            wait(futures)
            print("32 at once:", [float(f.result().outputs["y"][0, 0]) for f in futures][-3:])

            asked = {
                "IN": np.array([7, 8, 9], np.int32),
                "DELAY": np.array([10, 10, 10], np.uint32),
                "WAIT": np.array([0], np.uint32),
            }
            for answer in server.stream("repeat", asked):
                print("stream:", int(answer.outputs["IDX"][0]), int(answer.outputs["OUT"][0]))


if __name__ == "__main__":
    main()
