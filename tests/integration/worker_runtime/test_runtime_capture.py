"""A real runtime writes a sample of its requests into a folder."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.http as http_client

from tests.integration.worker_runtime.test_runtime_observability import infer
from tests.support import onnx_models as om
from tests.support.runtime_process import runtime, wait_until
from worker_runtime.observability.capture.spool import FILE_BYTES, FINISHED, FOLDER_BYTES


def flags(folder: Path, **settings: Any) -> tuple[str, str]:
    return f"--capture-config={json.dumps(settings)}", f"--capture-directory={folder}"


def records(folder: Path) -> list[Any]:
    files = sorted(file for file in folder.iterdir() if FINISHED.fullmatch(file.name))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_requests_of_both_protocols_and_their_answers_are_captured(
    tmp_path: Path, repository: Path
) -> None:
    spool = tmp_path / "spool"
    with runtime(repository, *flags(spool, sampling_rate=1, roll_seconds=1)) as server:
        infer(server, "http", name="a")
        infer(server, "grpc", name="b")
        wait_until(lambda: len(records(spool)) == 2, "both records in finished files")
        assert re.search(r'shoal_capture_records_total\{outcome="written"\} 2\n', server.metrics())
        refused = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]}
        assert server.json("v2/models/simple/infer", refused)[0] == 400
        assert server.stop() == 0
    first, second = sorted(records(spool), key=lambda record: str(record["id"]))
    assert [first["id"], second["id"]] == ["a", "b"]
    for record in (first, second):
        one, other = (tensor["data"] for tensor in record["inputs"])
        added = next(t["data"] for t in record["outputs"] if t["name"] == "OUTPUT0")
        assert added == [a + b for a, b in zip(one, other, strict=True)]


def test_what_was_captured_last_is_written_at_the_end(tmp_path: Path, repository: Path) -> None:
    spool = tmp_path / "spool"
    with runtime(repository, *flags(spool, sampling_rate=1, roll_seconds=3600)) as server:
        infer(server, "http", name="last")
        assert not records(spool)
        assert server.stop() == 0
    assert [record["id"] for record in records(spool)] == ["last"]


def test_while_nobody_takes_files_the_folder_stays_bounded_and_requests_are_answered(
    tmp_path: Path,
) -> None:
    """The control plane is away, and then it is back."""
    om.save(tmp_path / "models", "wide", om.identity(om.FP32, "N", 50_000))
    spool = tmp_path / "spool"
    settings = {"sampling_rate": 1, "roll_seconds": 1, "max_request_bytes": 2**20}
    with runtime(tmp_path / "models", *flags(spool, **settings)) as server:

        def ask(name: str) -> None:
            tensor = http_client.InferInput("x", [1, 50_000], "FP32")
            values = np.random.default_rng(1).random((1, 50_000), np.float32)
            tensor.set_data_from_numpy(values)
            with http_client.InferenceServerClient(server.http) as client:
                answer = client.infer("wide", [tensor], request_id=name)
            assert np.array_equal(answer.as_numpy("y"), values)

        def counted(outcome: str) -> int:
            found = re.search(rf'outcome="{outcome}"\}} (\d+)', server.metrics())
            assert found is not None
            return int(found[1])

        for at in range(60):  # some two MB of JSON each
            ask(str(at))
            wait_until(lambda asked=at + 1: counted("written") + counted("dropped") == asked, "it")
        assert counted("dropped") > 0
        sizes = [file.stat().st_size for file in spool.iterdir()]
        assert FOLDER_BYTES // 2 < sum(sizes) <= FOLDER_BYTES
        assert max(sizes) <= FILE_BYTES
        for file in spool.iterdir():
            if FINISHED.fullmatch(file.name):
                file.unlink()
        ask("again")
        wait_until(lambda: "again" in {record["id"] for record in records(spool)}, "a record")
        assert server.stop() == 0
