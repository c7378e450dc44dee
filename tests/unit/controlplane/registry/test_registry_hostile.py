"""Ways around the gate, against the inspection itself: each waits, by every way it is started."""

import io
import json
import pickle
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from rest_framework.test import APIClient

from controlplane.deployments.models import TryLoad
from controlplane.operations.models import Operation
from controlplane.registry import inspector
from controlplane.registry.models import ModelVersion, Upload
from controlplane.registry.types import Inspection
from tests.support.hostile_uploads import HOSTILE
from tests.support.hostile_uploads import Upload as Hostile
from tests.support.onnx_models import add_sub, model_bytes
from worker_runtime.inspection.repository import inspect_repository

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
Send = Callable[..., Upload]
Files = dict[str, bytes]
WAITS = (409, "CodeNotApproved")
ELF = b"\x7fELF\x02\x01\x01" + bytes(57)
SCRIPT = b"class TritonPythonModel:\n    def execute(self, requests): ...\n"
HELD = [one for one in HOSTILE if one.kinds]
ONE_OF_KIND = {kind: one for one in HELD for kind in sorted(one.kinds)}
PLAN = 'name: "m"\nbackend: "onnxruntime"\n'


@pytest.fixture(autouse=True)
def inspection() -> None:
    """The real program, instead of the folder's stand-in."""


def inspected(directory: Path, *, tick: Callable[[], None]) -> Inspection:
    """What the program says of a repository, without starting it."""
    tick()
    answer = json.dumps(inspect_repository(directory))
    return cast(Inspection, inspector.storable(json.loads(answer)))


@pytest.fixture
def without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program per upload takes a second; one upload of each kind goes through it, and all of
    them in ``make security``."""
    monkeypatch.setattr(inspector, "inspect", inspected)


@pytest.fixture(scope="module")
def onnx() -> bytes:
    return model_bytes(add_sub())


def packed(files: Files, how: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def torch_archive(inner: Files) -> bytes:
    return packed({f"archive/{name}": content for name, content in inner.items()})


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("opened",))


def settled(text: str) -> Callable[[bytes], Files]:
    """A plain model beside a configuration."""
    return lambda onnx: {"m/1/model.onnx": onnx, "m/config.pbtxt": text.encode()}


def beside(name: str, content: bytes) -> Callable[[bytes], Files]:
    return lambda onnx: {"m/1/model.onnx": onnx, name: content}


UPLOADS: dict[str, Callable[[bytes], Files]] = {
    "a folder that names the backend, and packages": lambda onnx: {
        "evil.python/1/model.python": SCRIPT,
        "evil.python/1/requirements.txt": b"./evil.whl\n",
        "evil.python/1/evil.whl": packed({"evil.py": b"print()"}),
    },
    "a folder that names the backend": lambda onnx: {"evil.python/1/model.python": SCRIPT},
    "a string in two, with a comment": settled('name: "m"\nbackend: "py" # c\n "thon"\n'),
    "an escape of unicode": settled('name: "m"\nbackend: "\\u0070ython"\n'),
    "an octal escape": settled('name: "m"\nbackend: "\\160ython"\n'),
    "a key in two": settled(
        PLAN + 'parameters { key: "EXECUTION_ENV" # c\n "_PATH" value { string_value: "/e" } }\n'
    ),
    "an extension of the processor": settled(
        'name: "m"\nbackend: "openvino"\nparameters { key: "CPU_EXTENSION_PATH" '
        'value { string_value: "m/1/weights.bin" } }\n'
    ),
    "plugins of TensorRT": settled(
        PLAN + "optimization { execution_accelerators { gpu_execution_accelerator { name: "
        '"tensorrt" parameters { key: "trt_extra_plugin_lib_paths" value: "/tmp/x" } } } }\n'
    ),
    "an operator library in a list": settled(
        PLAN + 'model_operations { op_library_filename: ["weights.bin"] }\n'
    ),
    "a runtime of its own": settled(PLAN + 'runtime: "libown.so"\n'),
    "a repository agent": settled(PLAN + 'model_repository_agents { agents { name: "own" } }\n'),
    "machine code under another name": beside("m/1/weights.bin", ELF),
    "a pickle under another name": beside("m/1/weights.bin", pickle.dumps(Evil())),
    "torch.export with a pickle": lambda onnx: {
        "m/1/model.pt2": torch_archive(
            {
                "archive_format": b"pt2",
                "models/model.json": json.dumps({"graph_module": {}}).encode(),
                "data/weights/weight_0": packed({"x/data.pkl": pickle.dumps(Evil())}),
            }
        ),
        "m/config.pbtxt": b'name: "m"\nbackend: "pytorch"\nplatform: "torch_aoti"\n',
    },
    "a second version compiled by AOTInductor": lambda onnx: {
        "m/1/model.onnx": onnx,
        "m/2/model.pt2": torch_archive(
            {
                "archive_format": b"pt2",
                "data/aotinductor/model/model.so": ELF,
            }
        ),
    },
    "a further file compiled by AOTInductor": lambda onnx: {
        "m/1/model.onnx": onnx,
        "m/1/other.bin": torch_archive({"data/aotinductor/model/model.so": ELF}),
    },
    "TorchScript that reads files": lambda onnx: {
        "m/1/model.onnx": onnx,
        "m/2/model.pt": torch_archive(
            {
                "constants.pkl": pickle.dumps((), 2),
                "code/__torch__.py": b"def forward(self):\n  return torch.from_file('/etc/x')\n",
            }
        ),
    },
}


@pytest.mark.parametrize("files", UPLOADS.values(), ids=UPLOADS.keys())
@pytest.mark.usefixtures("without_program")
def test_a_way_around_the_gate_waits(
    ingested: Send, api: APIClient, onnx: bytes, files: Callable[[bytes], Files]
) -> None:
    upload = ingested("m.zip", packed(files(onnx)))
    if upload.state != Upload.State.READY:
        assert upload.error, "refused at the upload is refused"
        return
    assert api.get(f"/api/v1/uploads/{upload.pk}").json()["code"]["state"] == "waiting"
    answer = api.post("/api/v1/try-loads", {"upload_id": upload.pk})
    assert (answer.status_code, answer.json()["code"]) == WAITS
    registered = api.post("/api/v1/models", {"name": "m", "upload_id": upload.pk})
    if registered.status_code != 201:
        assert registered.json()["code"] == "ConfigInvalid"
        return
    assert registered.json()["code"]["state"] == "waiting"
    for path in ("/api/v1/deploy", "/api/v1/try-loads"):
        answer = api.post(path, {"model": "m"})
        assert (answer.status_code, answer.json()["code"]) == WAITS
    assert not (Operation.objects.exists() or TryLoad.objects.exists())


@pytest.mark.parametrize("found", ONE_OF_KIND.values(), ids=ONE_OF_KIND.keys())
def test_an_upload_of_each_kind_waits(ingested: Send, api: APIClient, found: Hostile) -> None:
    waits_or_is_refused(ingested, api, found)
    assert Upload.objects.get().state == Upload.State.READY


@pytest.mark.parametrize("found", HELD, ids=lambda one: one.name)
@pytest.mark.usefixtures("without_program")
def test_every_upload_of_the_corpus_waits_or_is_refused(
    ingested: Send, api: APIClient, found: Hostile
) -> None:
    waits_or_is_refused(ingested, api, found)


def waits_or_is_refused(ingested: Send, api: APIClient, found: Hostile) -> None:
    # why deflated: one is larger than an upload may be here, and a bomb once it is packed
    large = sum(map(len, found.files.values())) > 2**20
    how = zipfile.ZIP_DEFLATED if large else zipfile.ZIP_STORED
    upload = ingested("m.zip", packed(dict(found.files), how))
    if upload.state != Upload.State.READY:
        assert (upload.error or {})["code"] == ("ArchiveBomb" if large else found.refusal)
        return
    code = api.get(f"/api/v1/uploads/{upload.pk}").json()["code"]
    assert found.kinds <= {reason["kind"] for reason in code["reasons"]}
    answer = api.post("/api/v1/try-loads", {"upload_id": upload.pk})
    assert (answer.status_code, answer.json()["code"]) == WAITS
    registered = api.post("/api/v1/models", {"name": "m", "upload_id": upload.pk})
    if registered.status_code != 201:
        assert registered.json()["code"] == found.refusal
        return
    answer = api.post("/api/v1/deploy", {"model": "m"})
    assert (answer.status_code, answer.json()["code"]) == WAITS == (409, found.refusal)


def test_a_plain_model_waits_for_nobody(ingested: Send, api: APIClient, onnx: bytes) -> None:
    upload = ingested("m.zip", packed({"m/1/model.onnx": onnx, "m/config.pbtxt": PLAN.encode()}))
    api.post("/api/v1/models", {"name": "m", "upload_id": upload.pk})
    assert ModelVersion.objects.get().code == []
    assert api.post("/api/v1/deploy", {"model": "m"}).status_code == 202


EDITS = [
    'backend: "py" # c\n "thon"\n',
    'backend: "\\u0070ython"\n',
    'backend: "onnxruntime"\ndefault_model_filename: "lib.so"\n',
    'parameters { key: "EXECUTION_ENV_" "PATH" value { string_value: "/e" } }\n',
]


@pytest.mark.parametrize("edit", EDITS)
def test_the_same_in_an_edit_waits_as_draft_trial_and_revision(
    ingested: Send, api: APIClient, onnx: bytes, edit: str
) -> None:
    upload = ingested("m.zip", packed({"m/1/model.onnx": onnx, "m/config.pbtxt": PLAN.encode()}))
    edits = {"configs": {"m": f'name: "m"\n{edit}'}}
    trial = {"upload_id": upload.pk, **edits}
    answer = api.post("/api/v1/try-loads", trial, format="json")
    assert (answer.status_code, answer.json()["code"]) == WAITS
    api.post("/api/v1/models", {"name": "m", "upload_id": upload.pk})
    answer = api.post("/api/v1/try-loads", {"model": "m", **edits}, format="json")
    assert (answer.status_code, answer.json()["code"]) == WAITS
    saved = api.post("/api/v1/models/m/versions/1/config-revisions", edits, format="json")
    if saved.status_code == 201:
        answer = api.post("/api/v1/deploy", {"model": "m"})
        assert (answer.status_code, answer.json()["code"]) == WAITS


def test_unclosed_quotes_stop_nobody(ingested: Send, api: APIClient, onnx: bytes) -> None:
    """60 KB of them held the web process for ten seconds, for every user."""
    upload = ingested("m.zip", packed({"m/1/model.onnx": onnx, "m/config.pbtxt": PLAN.encode()}))
    api.post("/api/v1/models", {"name": "m", "upload_id": upload.pk})
    quotes = "'\"" * 30_000
    asked = {"configs": {"m": quotes, "other": quotes}}
    began = time.process_time()
    named = api.post("/api/v1/try-loads", {"model": "m", **asked}, format="json")
    assert (named.status_code, named.json()["field"]) == (400, "configs")
    parsed = {"model": "m", "configs": {"m": quotes}}
    answer = api.post("/api/v1/try-loads", parsed, format="json")
    assert (answer.status_code, answer.json()["code"]) == WAITS
    assert time.process_time() - began < 2, "the text is read in the limited child"
