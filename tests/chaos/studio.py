"""The control plane as a program sees it: REST, retried while faults are injected."""

import io
import time
import zipfile
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import httpx

from tests.support import onnx_models as om

DEADLINE_S = 180.0
POLL_S = 0.2
ENDED = ("Succeeded", "Failed", "Canceled")
RAW = "application/offset+octet-stream"
T = TypeVar("T")


def until(look: Callable[[], T], what: str, within_s: float = DEADLINE_S) -> T:
    """The first answer of ``look`` that is true; fails with ``what``."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(POLL_S)
    return found


class Studio:
    def __init__(self, url: str, token: str) -> None:
        self.http = httpx.Client(
            base_url=f"{url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=30,
        )

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        assert answer.is_success, answer.text
        return answer.json()

    def send(self, method: str, path: str, body: object = None) -> Any:
        answer = self.http.request(method, path, json=body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def patiently(self, path: str) -> Any:
        """Like ``get``, over a control plane that may just be away; None while it is."""
        try:
            answer = self.http.get(path)
        except httpx.HTTPError:
            return None
        return answer.json() if answer.is_success else None

    # Models

    def register(self, name: str, content: bytes | None = None, filename: str = "") -> int:
        """A new version of a model; the smallest one unless ``content`` is given."""
        content = tiny_model() if content is None else content
        filename = filename or f"{name}.onnx"
        upload = self.send("POST", "/uploads", {"filename": filename, "size": len(content)})
        path = f"/uploads/{upload['id']}"
        for start in range(0, len(content), 16 << 20):
            headers = {"Content-Type": RAW, "Upload-Offset": str(start)}
            piece = content[start : start + (16 << 20)]
            assert self.http.patch(path, content=piece, headers=headers).is_success
        self.send("POST", f"{path}/complete", {})
        state = self.settled(path, ("ready", "failed"))
        assert state["state"] == "ready", state
        made = self.send("POST", "/models", {"name": name, "upload_id": upload["id"]})
        return int(made["version"])

    # Endpoints

    def deploy(self, endpoint: str, model: str, **wanted: Any) -> str:
        """Begin a deployment of ``endpoint``; the operation's id. All traffic unless said."""
        if self.http.get(f"/endpoints/{endpoint}").status_code == 404:
            self.send("POST", "/endpoints", {"name": endpoint})
        body = {"name": "blue", "model": model, "traffic": 100, **wanted}
        return str(self.send("POST", f"/endpoints/{endpoint}/deployments", body)["id"])

    def finished(self, operation: str, within_s: float = DEADLINE_S) -> Any:
        return self.settled(f"/operations/{operation}", ENDED, within_s)

    def succeeded(self, operation: str, within_s: float = DEADLINE_S) -> Any:
        ended = self.finished(operation, within_s)
        assert ended["state"] == "Succeeded", ended["error"]
        return ended

    def settled(self, path: str, states: Collection[str], within_s: float = DEADLINE_S) -> Any:
        def look() -> Any:
            body = self.patiently(path)
            return body if body and body["state"] in states else None

        return until(look, f"{path} is one of {states}: {self.patiently(path)}", within_s)

    def stage(self, operation: str) -> str:
        """The stage that is under way; empty when none is."""
        stages = self.get(f"/operations/{operation}")["stages"]
        return next((s["name"] for s in stages if s["status"] == "running"), "")

    def reaches(self, operation: str, stage: str) -> None:
        until(lambda: self.stage(operation) == stage, f"{operation} reaches {stage}")

    def deployment(self, endpoint: str, name: str = "blue") -> Any:
        return self.get(f"/endpoints/{endpoint}/deployments/{name}")

    def replicas(self, endpoint: str, name: str = "blue") -> list[Any]:
        return list(self.deployment(endpoint, name)["replicas"])

    def serving(self, endpoint: str) -> str:
        return str(self.get(f"/endpoints/{endpoint}")["serving_state"])

    def key(self, endpoint: str, slot: str = "primaryKey") -> str:
        return str(self.send("POST", f"/endpoints/{endpoint}/keys/list")[slot])

    def infer_url(self, endpoint: str, model: str) -> str:
        uri = self.get(f"/endpoints/{endpoint}")["plain_uri"]
        return f"{uri}v2/models/{model}/infer"

    def delete(self, endpoint: str) -> None:
        self.succeeded(self.send("DELETE", f"/endpoints/{endpoint}")["id"])

    def events(self, subject: str) -> list[str]:
        found = self.get(f"/events?subject={subject}&limit=200")["items"]
        return [event["verb"] for event in found]

    def node(self, name: str) -> Any:
        return self.get(f"/nodes/{name}")


def tiny_model(target: str = "y") -> bytes:
    return om.model_bytes(om.identity(om.FP32, "N", 4, source="x", target=target))


CONFIG = """
backend: "python"
input { name: "x" data_type: TYPE_FP32 dims: [-1, 4] }
output { name: "y" data_type: TYPE_FP32 dims: [-1, 4] }
instance_group { count: 1 kind: KIND_CPU }
"""


def python_model(name: str, code: str, *, ballast: bytes = b"", config: str = CONFIG) -> bytes:
    """A zip with one Python model; ``ballast`` is a file that only makes it heavy."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{name}/config.pbtxt", config)
        archive.writestr(f"{name}/1/model.py", code)
        if ballast:
            archive.writestr(f"{name}/1/weights.bin", ballast)
    return found.getvalue()


ECHO = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("y", request.inputs()[0].as_numpy())])
            for request in requests
        ]
"""
SLOW_TO_LOAD = ECHO.replace(
    "    def execute",
    "    def initialize(self, args):\n        import time\n"
    "        time.sleep(15)\n\n    def execute",
)
BROKEN = ECHO.replace(
    "    def execute",
    "    def initialize(self, args):\n"
    "        raise RuntimeError('no such vocabulary')\n\n    def execute",
)
# Refused twice what it fetches while it loads, then well.
REFUSED_TWICE = ECHO.replace(
    "    def execute",
    "    def initialize(self, args):\n"
    "        import pathlib\n"
    "        tries = pathlib.Path(args['model_repository']) / 'tries'\n"
    "        number = int(tries.read_text()) + 1 if tries.exists() else 1\n"
    "        tries.write_text(str(number))\n"
    "        if number < 3:\n"
    "            raise ConnectionResetError('Connection reset by peer')\n\n    def execute",
)
# What PyTorch says when a GPU is full, in the place of a GPU: at load, or for one sort of request.
GPU_FULL = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.1 GiB"
TOO_LARGE_FOR_GPU = BROKEN.replace("no such vocabulary", GPU_FULL)
OUT_OF_GPU_MEMORY_AT_TIMES = ECHO.replace(
    "    def execute(self, requests):\n",
    "    def execute(self, requests):\n"
    "        if any((request.inputs()[0].as_numpy() < 0).any() for request in requests):\n"
    f"            raise RuntimeError({GPU_FULL!r})\n",
)
# One that leaks: a negative value fills the GPU, and then every other request finds no memory.
LEAKING_GPU_MEMORY = ECHO.replace(
    "    def execute(self, requests):\n",
    "    full, turn = False, 0\n\n"
    "    def execute(self, requests):\n"
    "        self.turn += 1\n"
    "        if any((request.inputs()[0].as_numpy() < 0).any() for request in requests):\n"
    "            self.full = True\n"
    "        if self.full and self.turn % 2:\n"
    f"            raise RuntimeError({GPU_FULL!r})\n",
)
