"""One runtime for many cases of tests/gpu: models are added while it runs, by explicit loads."""

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http

from tests.support import onnx_models as om
from tests.support import runtime_process
from tests.support.cuda_driver import cuda_driver
from tests.support.gpu_device import Device
from tests.support.gpu_models import Array, save_torch
from tests.support.runtime_process import Runtime, runtime

ANSWER_S = 30.0
# Less than usual: the time on a machine with a GPU is short, and such machines are quick.
wait_until = functools.partial(runtime_process.wait_until, timeout_s=ANSWER_S)
_MOST_LOG = 4000  # characters of a case
_FLAGS = (
    "--model-control-mode=explicit",
    "--exit-timeout-secs=5",
    "--cache-config=local,size=16777216",  # for models that ask for it
)


class Server:
    """Starts when it is first asked for, and anew where the last case killed it.

    On the CPU it is the double of one on a GPU (gpu_double.py), over a CUDA driver made of files.
    """

    def __init__(
        self, work: Path, device: Device, *flags: str, variables: Mapping[str, str] | None = None
    ) -> None:
        self.device = device
        self.root = work / "models"
        self.root.mkdir(parents=True)
        self._work = work
        self._flags = (*_FLAGS, *flags)
        self._variables = dict(variables or {})
        self._held = contextlib.ExitStack()
        self._starting = threading.Lock()  # cases ask from several threads
        self._runtime: Runtime | None = None
        self._started = 0

    @property
    def runtime(self) -> Runtime:
        with self._starting:
            if self._runtime is None or self._runtime.process.poll() is not None:
                self.close()
                self._runtime = self._start()
            return self._runtime

    def _start(self) -> Runtime:
        self._started += 1
        with contextlib.ExitStack() as starting:
            if not self.device.is_gpu:
                folder = self._work / f"start_{self._started}"
                folder.mkdir()
                starting.enter_context(cuda_driver(folder, on_host=True))
            module = "worker_runtime" if self.device.is_gpu else "tests.support.gpu_double"
            server = runtime(self.root, *self._flags, module=module, variables=self._variables)
            return self._held.enter_context(server)

    def close(self) -> None:
        self._held.close()
        self._runtime = None

    @contextlib.contextmanager
    def watched(self) -> Iterator["Server"]:
        """One case's use of it: what it logs is written out; it must outlive the case."""
        before = len(self.log())
        yield self
        sys.stdout.write(self.log()[before:][-_MOST_LOG:])
        code = self._runtime.process.poll() if self._runtime is not None else None
        assert code is None, f"the server ended with {code} in this case"

    def log(self) -> str:
        """Of the server that runs, or ran last."""
        return self._runtime.log.read_text(errors="replace") if self._runtime is not None else ""

    # --- models ----------------------------------------------------------------------------

    def add(self, name: str, model: Any, text: str) -> str:
        """A model that is made of a graph of ONNX or of a PyTorch module, loaded; its name."""
        self.place(name, model, text)
        self.load(name)
        return name

    def place(self, name: str, model: Any, text: str) -> None:
        if isinstance(model, om.GraphProto):
            om.save(self.root, name, model, text)
        else:
            save_torch(self.root, name, model, text)

    def try_load(self, name: str) -> tuple[int, str]:
        """The status, and why it was refused."""
        status, said = self.runtime.json(f"v2/repository/models/{name}/load", {})
        return status, said["error"] if said else ""

    def load(self, name: str) -> None:
        status, error = self.try_load(name)
        assert status == 200, error

    def unload(self, *names: str) -> None:
        for name in names:
            status, said = self.runtime.json(f"v2/repository/models/{name}/unload", {})
            assert status == 200, said

    def statistics(self, name: str) -> Any:
        return self.runtime.json(f"v2/models/{name}/stats")[1]["model_stats"][0]

    def metric(self, name: str, **labels: str) -> dict[str, float]:
        """The family's values by their text of labels, of those rows that have ``labels``."""
        rows = {}
        for line in self.runtime.metrics().splitlines():
            text, _, value = line.rpartition(" ")
            family, _, found = text.partition("{")
            if family == name and all(f'{key}="{item}"' in found for key, item in labels.items()):
                rows[found.rstrip("}")] = float(value)
        return rows

    # --- clients ---------------------------------------------------------------------------

    def over_http(self, **options: Any) -> Any:
        return over_http.InferenceServerClient(
            self.runtime.http,
            connection_timeout=ANSWER_S,
            network_timeout=ANSWER_S,
            **options,
        )

    def over_grpc(self) -> Any:
        return over_grpc.InferenceServerClient(self.runtime.grpc)

    def infer(self, name: str, **arrays: Array) -> Array:
        """The output y, over HTTP. Raises InferenceServerException."""
        with self.over_http() as client:
            return client.infer(name, given(over_http, **arrays)).as_numpy("y")  # type: ignore[no-any-return]


def given(module: Any, **arrays: Array) -> list[Any]:
    """Inputs of a stock client with their data in the request."""
    found = []
    for name, array in arrays.items():
        tensor = declared(module, name, array)
        tensor.set_data_from_numpy(array)
        found.append(tensor)
    return found


def declared(module: Any, name: str, array: Array) -> Any:
    """An input of a stock client without data."""
    kinds = {"f": "FP32", "i": "INT64", "O": "BYTES"}
    return module.InferInput(name, list(array.shape), kinds[array.dtype.kind])


def let_go(server: Server) -> None:
    """Unregister all regions of device memory, and wait until the server has closed them."""
    with server.over_http() as client:
        client.unregister_cuda_shared_memory()
        wait_until(lambda: client.get_cuda_shared_memory_status() == [], "regions to be let go")


def side_by_side(count: int, do: Callable[[int], Any]) -> list[Any]:
    """What ``do`` gives for each of ``count`` numbers, in as many threads; raises what one does."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(do, range(count)))


def number(value: int) -> Array:
    return np.array([value], np.int64)
