"""The bare limit on a device: batches back to back through the library alone.

``python -m benchmarks.gpu_limit JOB`` loads a model's file, says so, and then measures one batch
size per line. Inputs are on the device already and outputs stay there; what is told besides is
whether one of them is right.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_answers import largest_value, wrong_rows
from benchmarks.gpu_child import Voice
from benchmarks.gpu_models import Kit, samples_of

Run = Callable[[], None]
_WARM_UP_S = 0.4
_ON_DEVICE = "cuda"
CUDA_OPTIONS = {"device_id": "0", "cudnn_conv_algo_search": "HEURISTIC"}  # as the server has it


class OnnxLoop:
    """ONNX Runtime with everything bound on the device."""

    def __init__(self, file: Path, device: str, output: str) -> None:
        if device == _ON_DEVICE:
            import torch  # noqa: F401, PLC0415  # why: its wheels bring the libraries of CUDA
        import onnxruntime as ort  # noqa: PLC0415  # why: only this library's process needs it

        self._ort, self._device, self._output = ort, device, output
        providers: list[Any] = ["CPUExecutionProvider"]
        if device == _ON_DEVICE:
            ort.preload_dlls()
            providers.insert(0, ("CUDAExecutionProvider", CUDA_OPTIONS))
        self._session = ort.InferenceSession(str(file), providers=providers)
        used = self._session.get_providers()[0]
        if (device == _ON_DEVICE) is not (used == "CUDAExecutionProvider"):
            raise RuntimeError(f"ONNX Runtime runs {file} by {used}")

    def bind(self, feeds: dict[str, np.ndarray]) -> tuple[Run, Callable[[], np.ndarray]]:
        binding = self._session.io_binding()
        values = {
            name: self._ort.OrtValue.ortvalue_from_numpy(array, self._device, 0)
            for name, array in feeds.items()
        }
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        binding.bind_output(self._output, self._device, 0)

        def run(_keep: Any = values) -> None:
            self._session.run_with_iobinding(binding)

        return run, lambda: np.asarray(binding.copy_outputs_to_cpu()[0])

    def finish(self) -> None:
        """Each run has waited for the device already."""


class TorchLoop:
    """TorchScript on a stream of its own; the host is at most two batches ahead of the device."""

    def __init__(self, file: Path, device: str, output: str) -> None:
        del output
        import torch  # noqa: PLC0415  # as above

        self._torch: Any = torch
        self._device = torch.device(device)
        self._module = torch.jit.load(str(file), map_location=self._device).eval()
        self._stream = torch.cuda.Stream() if device == _ON_DEVICE else None
        self._ahead: list[Any] = []
        torch.set_grad_enabled(False)

    def bind(self, feeds: dict[str, np.ndarray]) -> tuple[Run, Callable[[], np.ndarray]]:
        torch = self._torch
        given = [torch.from_numpy(array).to(self._device) for array in feeds.values()]
        if self._stream is not None:
            torch.cuda.synchronize()
        last: list[Any] = [None]

        def run() -> None:
            with torch.inference_mode():
                if self._stream is None:
                    last[0] = self._module(*given)
                    return
                with torch.cuda.stream(self._stream):
                    last[0] = self._module(*given)
                    event = torch.cuda.Event()
                    event.record(self._stream)
            self._ahead.append(event)
            if len(self._ahead) > 2:
                self._ahead.pop(0).synchronize()

        return run, lambda: np.asarray(last[0].cpu().numpy())

    def finish(self) -> None:
        if self._stream is not None:
            self._stream.synchronize()
        self._ahead.clear()


def measure(loop: OnnxLoop | TorchLoop, feeds: dict[str, np.ndarray], seconds: float) -> Any:
    run, answer = loop.bind(feeds)
    end = time.perf_counter() + _WARM_UP_S
    run()
    while time.perf_counter() < end:
        run()
    loop.finish()
    count, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < started + seconds or not count:
        run()
        count += 1
    loop.finish()
    took, cpu = time.perf_counter() - started, time.process_time() - cpu
    batch = len(next(iter(feeds.values())))
    result = {"per_second": count * batch / took, "cpu_us": cpu / count / batch * 1e6}
    return result, answer()


def main(job: dict[str, Any]) -> None:
    voice = Voice()
    kit = Kit(job["device"], job["tiny"])
    model, library = kit.model(job["key"]), job["library"]
    samples, expected = samples_of(kit, model.key)
    kind = OnnxLoop if library == "onnxruntime" else TorchLoop
    loop = kind(kit.file(model.key, library), kit.device, model.output.name)
    voice.say({"loaded": True})
    for line in sys.stdin:
        asked = json.loads(line)
        rows = np.arange(asked["batch"]) % len(expected)
        feeds = {item.name: samples[item.name][rows] for item in model.inputs}
        try:
            result, answer = measure(loop, feeds, asked["seconds"])
        except Exception as error:  # why so wide: the libraries' share no base class; it is told
            voice.say({"failed": f"{type(error).__name__}: {error}"[:2000]})
            continue
        result["wrong"] = wrong_rows(
            answer, expected[rows], model.tolerance, largest_value(expected)
        )
        voice.say(result)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
