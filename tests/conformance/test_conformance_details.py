"""Points of Triton's surface that no other module looks at."""

import gzip
import json
import sys
import tarfile
import venv
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton_grpc

from tests.support import builtin_models, onnx_models, python_models
from tests.support.runtime_process import Runtime, runtime, wait_until

EXTENSIONS = [
    "classification",
    "sequence",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "model_configuration",
    "system_shared_memory",
    "cuda_shared_memory",
    "binary_tensor_data",
    "parameters",
    "statistics",
    "trace",
    "logging",
]


def test_the_extensions_are_tritons_in_its_order(conforming: Runtime) -> None:
    status, answer = conforming.json("v2")
    assert status == 200
    assert list(answer) == ["name", "version", "extensions"]
    assert answer["name"] == "triton"
    assert answer["extensions"] == EXTENSIONS
    with triton_grpc.InferenceServerClient(conforming.grpc) as client:
        metadata = client.get_server_metadata()
    assert (metadata.name, metadata.version) == (answer["name"], answer["version"])
    assert list(metadata.extensions) == EXTENSIONS


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_the_json_length_of_a_compressed_answer_is_the_uncompressed_one(
    coding: str, conforming: Runtime
) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": [1.5] * 6}
    body = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    status, headers, answer = conforming.call(
        "v2/models/fixed/infer", body, headers={"Accept-Encoding": coding}
    )
    assert status == 200
    assert headers["content-encoding"] == coding
    assert headers["content-type"] == "application/octet-stream"
    plain = gzip.decompress(answer) if coding == "gzip" else zlib.decompress(answer)
    length = int(headers["inference-header-content-length"])
    (output,) = json.loads(plain[:length])["outputs"]
    assert output["parameters"] == {"binary_data_size": 24}
    assert np.frombuffer(plain[length:], np.float32).tolist() == [1.5] * 6


def test_a_connection_that_is_too_old_is_asked_to_go(tmp_path: Path) -> None:
    root = tmp_path / "models"
    onnx_models.save(root, "simple", onnx_models.add_sub(), "max_batch_size: 8\n")
    with runtime(root, "--grpc-max-connection-age=300", "--grpc-keepalive-time=1000") as server:
        seen: list[grpc.ChannelConnectivity] = []
        with grpc.insecure_channel(server.grpc) as channel:
            channel.subscribe(seen.append, try_to_connect=True)
            ready = grpc.ChannelConnectivity.READY
            # It is there, goes idle when the server says goodbye, and calls still go through.
            wait_until(
                lambda: ready in seen and seen[-1] is grpc.ChannelConnectivity.IDLE,
                "the connection went",
            )
        with triton_grpc.InferenceServerClient(server.grpc) as client:
            assert client.is_server_ready()


LOADER = """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            text = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()[0].decode()
            action, _, rest = text.partition(" ")
            if action == "load":
                pb_utils.load_model(model_name=rest)
            elif action == "config":
                name, _, config = rest.partition(" ")
                pb_utils.load_model(model_name=name, config=config)
            elif action == "unload":
                pb_utils.unload_model(rest)
            name = rest.split(" ")[0]
            said = str(pb_utils.is_model_ready(model_name=name)).encode()
            tensor = pb_utils.Tensor("OUTPUT0", np.array([said], dtype=object))
            answers.append(pb_utils.InferenceResponse([tensor]))
        return answers
"""


def test_python_models_load_and_unload_others(tmp_path: Path) -> None:
    root = tmp_path / "models"
    text = {"inputs": "INPUT0:STRING:1", "outputs": "OUTPUT0:STRING:1"}
    python_models.add(root, "loader", LOADER, **text)
    onnx_models.save(root, "simple", onnx_models.add_sub(), "max_batch_size: 8\n")
    flags = ("--model-control-mode=explicit", "--load-model=loader")
    with runtime(root, *flags) as server:

        def ask(what: str) -> str:
            tensor = {"name": "INPUT0", "datatype": "BYTES", "shape": [1], "data": [what]}
            status, answer = server.json("v2/models/loader/infer", {"inputs": [tensor]})
            assert status == 200, answer
            return str(answer["outputs"][0]["data"][0])

        assert ask("look simple") == "False"
        assert ask("load simple") == "True"
        assert server.call("v2/models/simple/ready")[0] == 200
        assert ask('config simple {"max_batch_size": 3}') == "True"
        assert server.json("v2/models/simple/config")[1]["max_batch_size"] == 3
        assert ask("unload simple") == "False"
        assert server.call("v2/models/simple/ready")[0] != 200


WHERE = """
import sys


class TritonPythonModel:
    def execute(self, requests):
        tensor = pb_utils.Tensor("OUTPUT0", np.array([sys.prefix.encode()], dtype=object))
        return [pb_utils.InferenceResponse([tensor]) for _ in requests]
"""


@pytest.mark.parametrize("packed", [False, True])
def test_a_model_runs_in_the_environment_that_it_names(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "models"
    model = python_models.add(
        root,
        "where",
        WHERE,
        outputs="OUTPUT0:STRING:1",
        config='parameters { key: "EXECUTION_ENV_PATH" value { string_value: '
        f'"$$TRITON_MODEL_DIRECTORY/{"env.tar.gz" if packed else "env"}" }} }}\n',
    )
    environment = model / "env"
    venv.create(environment, symlinks=True)
    # The environment needs numpy of its own; this one borrows ours.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(str(Path(np.__file__).parents[1]) + "\n")
    if packed:
        with tarfile.open(model / "env.tar.gz", "w:gz") as archive:
            for item in environment.iterdir():
                archive.add(item, item.name)
        for path in sorted(environment.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        environment.rmdir()
    with runtime(root) as server:
        tensor = {"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1]}
        status, answer = server.json("v2/models/where/infer", {"inputs": [tensor]})
        assert status == 200, answer
        prefix = answer["outputs"][0]["data"][0]
        assert prefix != sys.prefix
        assert prefix.startswith(str(tmp_path / "cache" if packed else environment))


TIDINGS = """
import tidings


class TritonPythonModel:
    def execute(self, requests):
        tensor = pb_utils.Tensor("OUTPUT0", np.array([tidings.TEXT.encode()], dtype=object))
        return [pb_utils.InferenceResponse([tensor]) for _ in requests]
"""


def wheel(folder: Path) -> Path:
    """A package of one module, so that the test knows what was installed."""
    path = folder / "tidings-1-py3-none-any.whl"
    about = "tidings-1.dist-info/"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tidings.py", "TEXT = 'installed'\n")
        archive.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: tidings\nVersion: 1\n")
        archive.writestr(
            about + "WHEEL",
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(
            about + "RECORD", "".join(f"{name},,\n" for name in [*archive.namelist(), "RECORD"])
        )
    return path


def test_requirements_beside_a_model_are_installed_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "models"
    model = python_models.add(root, "tidings", TIDINGS, outputs="OUTPUT0:STRING:1")
    (model / "1" / "requirements.txt").write_text(f"{wheel(tmp_path)}\n")
    tensor = {"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1]}
    with runtime(root) as server:
        status, answer = server.json("v2/models/tidings/infer", {"inputs": [tensor]})
        assert status == 200, answer
        assert answer["outputs"][0]["data"] == ["installed"]


def test_a_trace_of_a_decoupled_model_has_every_answer(tmp_path: Path) -> None:
    root = tmp_path / "models"
    builtin_models.place(root, "square", builtin_models.SQUARE)
    flags = [
        "--trace-config=level=TIMESTAMPS",
        "--trace-config=rate=1",
        f"--trace-config=triton,file={tmp_path / 'trace'}",
        "--trace-config=triton,log-frequency=1",
    ]
    with runtime(root, *flags) as server:
        status, _, _ = server.call("v2/models/square/generate_stream", b'{"IN": 2}')
        assert status == 200
        written = tmp_path / "trace.0"
        wait_until(
            lambda: written.exists() and written.read_text().rstrip().endswith("]"), "the trace"
        )
    items = [item for item in json.loads(written.read_text()) if "timestamps" in item]
    names = [stamp["name"] for item in items for stamp in item["timestamps"]]
    assert Counter(names) == {
        "HTTP_RECV_START": 1,
        "HTTP_RECV_END": 1,
        "REQUEST_START": 1,
        "QUEUE_START": 1,
        "COMPUTE_START": 1,
        "COMPUTE_INPUT_END": 1,
        "COMPUTE_OUTPUT_START": 1,
        "COMPUTE_END": 1,
        "INFER_RESPONSE_COMPLETE": 3,  # two answers, and the end that has none
        "HTTP_SEND_START": 2,
        "HTTP_SEND_END": 2,
        "REQUEST_END": 1,
    }
