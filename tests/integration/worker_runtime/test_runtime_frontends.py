"""Front ends in processes of their own: what is one for all of them, and what each may lose."""

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from tritonclient.utils import InferenceServerException, serialize_byte_tensor, shared_memory

from tests.support import onnx_models as om
from tests.support import sequence_models as sm
from tests.support.http_surface import save_config
from tests.support.runtime_process import Runtime, runtime, wait_until

MANY = 12  # connections: that all of them are one front end's has a chance of one in 2,000
ADD = {
    "inputs": [
        {"name": name, "shape": [1, 16], "datatype": "INT32", "data": list(range(16))}
        for name in ("INPUT0", "INPUT1")
    ]
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("frontends") / "models"
    om.save(root, "simple", om.add_sub(), "max_batch_size: 8\n")
    om.save(root, "words", om.identity(om.STRING, 2))
    om.save(root, "long", om.identity(om.FP32, "N"), "max_batch_size: 0\n")
    om.save(
        root,
        "sums",
        sm.total(),
        'max_batch_size: 4\nsequence_batching { state { input_name: "STATE_IN" '
        'output_name: "STATE_OUT" data_type: TYPE_INT32 dims: 1 '
        'initial_state { name: "zero" data_type: TYPE_INT32 dims: 1 zero_data: true } } }\n',
    )
    save_config(
        root,
        "slow",
        'backend: "identity"\n'
        'parameters { key: "execute_delay_ms" value { string_value: "400" } }\n'
        'input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }\n'
        'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 }\n',
    )
    save_config(
        root,
        "repeat",
        'backend: "repeat"\nmodel_transaction_policy { decoupled: true }\n'
        'input [{ name: "IN" data_type: TYPE_INT32 dims: -1 },'
        '{ name: "DELAY" data_type: TYPE_UINT32 dims: -1 },'
        '{ name: "WAIT" data_type: TYPE_UINT32 dims: 1 }]\n'
        'output [{ name: "OUT" data_type: TYPE_INT32 dims: 1 },'
        '{ name: "IDX" data_type: TYPE_UINT32 dims: 1 }]\n',
    )
    with runtime(
        root,
        "--frontends=2",
        "--model-control-mode=explicit",
        "--load-model=*",
        f"--trace-config=triton,file={root.parent / 'trace'}",
        "--trace-config=triton,log-frequency=1",
    ) as found:
        yield found


class Peer:
    """One HTTP connection that stays."""

    def __init__(self, server: Runtime) -> None:
        self.socket = server.socket()

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Raises OSError when the server has let it go."""
        raw = b"" if body is None else json.dumps(body).encode()
        head = f"{'POST' if raw else 'GET'} /v2/{path} HTTP/1.1\r\nHost: x\r\n"
        self.socket.sendall(f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        reply = self.socket.makefile("rb")
        line = reply.readline()
        if not line:
            raise ConnectionResetError("it has ended")
        size = 0
        while (header := reply.readline().strip()) != b"":
            if header.lower().startswith(b"content-length:"):
                size = int(header.split(b":")[1])
        text = reply.read(size)
        return int(line.split()[1]), json.loads(text) if text else None

    @property
    def alive(self) -> bool:
        try:
            return self.ask("models/simple/infer", ADD)[0] == 200
        except OSError:
            return False


@pytest.fixture
def peers(server: Runtime) -> Iterator[list[Peer]]:
    found = [Peer(server) for _ in range(MANY)]
    yield found
    for peer in found:
        peer.socket.close()


def front_ends(process_id: int) -> set[int]:
    """The processes that serve, of which each has a thread or more."""
    children: set[int] = set()
    for task in Path(f"/proc/{process_id}/task").iterdir():
        children |= set(map(int, (task / "children").read_text().split()))
    return {
        child
        for child in children
        if b"worker_runtime.frontends" in Path(f"/proc/{child}/cmdline").read_bytes()
    }


def test_every_front_end_serves_what_one_has_loaded_and_none_what_one_has_unloaded(
    server: Runtime, peers: list[Peer]
) -> None:
    assert len(front_ends(server.process.pid)) == 2
    for number in range(6):
        asked = peers[number]
        assert asked.ask("repository/models/simple/unload", {})[0] == 200
        refused = [peer.ask("models/simple/infer", ADD) for peer in peers]
        assert {status for status, _ in refused} == {404}
        assert refused[0][1] == {
            "error": "Request for unknown model: 'simple' has no available versions"
        }
        assert asked.ask("repository/models/simple/load", {})[0] == 200
        assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}


def test_a_reload_loses_no_request(server: Runtime, peers: list[Peer]) -> None:
    done = threading.Event()

    def ask(peer: Peer) -> list[int]:
        found = []
        while not done.is_set():
            found.append(peer.ask("models/simple/infer", ADD)[0])
        return found

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, peer) for peer in peers[:4]]
        for rows in (4, 5, 6, 7):
            config = {"max_batch_size": rows, "backend": "onnxruntime"}
            body = {"parameters": {"config": json.dumps(config)}}
            assert peers[5].ask("repository/models/simple/load", body)[0] == 200
            assert peers[6].ask("models/simple/config")[1]["max_batch_size"] == rows
        done.set()
        statuses = [status for one in asking for status in one.result()]
    assert set(statuses) == {200}
    assert peers[0].ask("repository/models/simple/load", {})[0] == 200


def test_statistics_and_metrics_tell_the_sum_of_all(server: Runtime, peers: list[Peer]) -> None:
    def count() -> int:
        return int(peers[0].ask("models/simple/stats")[1]["model_stats"][0]["inference_count"])

    def connections() -> int:
        line = 'shoal_connections{protocol="http"} '
        return int(server.metrics().split(line)[1].split("\n")[0])

    before = count()
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}
    assert count() == before + MANY
    wait_until(lambda: connections() == MANY, "those of other tests have ended")
    metrics = server.metrics()
    assert f'nv_inference_count{{model="simple",version="1"}} {count()}' in metrics
    malformed = server.socket()
    malformed.sendall(b"nonsense\r\n\r\n")
    assert b"400" in malformed.recv(100)
    assert 'shoal_refusals_total{protocol="http",reason="a request cannot be framed"} 1' in (
        server.metrics()
    )
    for _ in range(2):  # a scrape adds nothing
        assert server.metrics().count("cannot be framed") == 1


def test_a_sequence_may_come_through_any_front_end(server: Runtime, peers: list[Peer]) -> None:
    totals = []
    for number, peer in enumerate(peers):
        body = {
            "parameters": {
                "sequence_id": 42,
                "sequence_start": number == 0,
                "sequence_end": number == MANY - 1,
            },
            "inputs": [{"name": "INPUT", "shape": [1, 1], "datatype": "INT32", "data": [2]}],
            "outputs": [{"name": "TOTAL"}],
        }
        status, answer = peer.ask("models/sums/infer", body)
        assert status == 200, answer
        totals += answer["outputs"][0]["data"]
    assert totals == [2 * n for n in range(1, MANY + 1)]
    body["parameters"] = {"sequence_id": 43}
    status, answer = peers[0].ask("models/sums/infer", body)  # which the core refuses at once
    assert (status, "must specify the START flag" in answer["error"]) == (400, True)


@pytest.mark.parametrize("package", [http_client, grpc_client])
def test_a_region_is_everybodys(server: Runtime, package: Any) -> None:
    """Raw tensors, and BYTES, whose wire form a front end makes."""
    address = server.http if package is http_client else server.grpc
    values = np.arange(5000, dtype=np.float32)
    words = serialize_byte_tensor(np.array([b"one", b"three"], dtype=object))
    key = f"/shoal-frontends-{os.getpid()}"  # other tests run beside this one
    region = shared_memory.create_shared_memory_region("part", key, 2 * 20000 + 200)
    try:
        shared_memory.set_shared_memory_region(region, [values])
        shared_memory.set_shared_memory_region(region, [words], offset=40000)
        clients = [package.InferenceServerClient(address) for _ in range(MANY)]
        clients[0].register_system_shared_memory("part", key, 2 * 20000 + 200)
        for client in clients:
            given = package.InferInput("x", [5000], "FP32")
            given.set_shared_memory("part", 20000)
            wanted = package.InferRequestedOutput("y")
            wanted.set_shared_memory("part", 20000, 20000)
            client.infer("long", [given], outputs=[wanted])
            written = shared_memory.get_contents_as_numpy(region, np.float32, [10000])
            assert (written[5000:] == values).all()
            written[5000:] = 0
            texts = package.InferInput("x", [2], "BYTES")
            texts.set_shared_memory("part", 16, offset=40000)
            kept = package.InferRequestedOutput("y")
            kept.set_shared_memory("part", 100, offset=40100)
            client.infer("words", [texts], outputs=[kept])
            found = shared_memory.get_contents_as_numpy(region, np.object_, [2], offset=40100)
            assert list(found) == [b"one", b"three"]
            small = package.InferRequestedOutput("y")
            small.set_shared_memory("part", 100, 20000)
            with pytest.raises(InferenceServerException, match="should be at least 20000 bytes"):
                client.infer("long", [given], outputs=[small])
        clients[1].unregister_system_shared_memory("part")
        for client in clients:
            with pytest.raises(InferenceServerException, match="Unable to find shared memory"):
                client.infer("long", [given], outputs=[wanted])
            client.close()
    finally:
        shared_memory.destroy_shared_memory_region(region)


def test_a_stream_has_all_answers_in_their_order(server: Runtime) -> None:
    client = grpc_client.InferenceServerClient(server.grpc)
    answers: list[Any] = []
    ended = threading.Event()

    def take(result: Any, error: Any) -> None:
        answers.append(error or int(result.as_numpy("OUT")[0]))
        if len(answers) == 50:
            ended.set()

    client.start_stream(take)
    inputs = []
    for name, kind, array in (
        ("IN", "INT32", np.arange(50, dtype=np.int32)),
        ("DELAY", "UINT32", np.zeros(50, dtype=np.uint32)),
        ("WAIT", "UINT32", np.zeros(1, dtype=np.uint32)),
    ):
        one = grpc_client.InferInput(name, list(array.shape), kind)
        one.set_data_from_numpy(array)
        inputs.append(one)
    client.async_stream_infer("repeat", inputs)
    assert ended.wait(20), answers
    client.stop_stream()
    assert answers == list(range(50))


def test_settings_changed_through_one_are_those_of_all(server: Runtime, peers: list[Peer]) -> None:
    assert peers[0].ask("logging", {"log_verbose_level": 1})[1]["log_verbose_level"] == 1
    assert {peer.ask("logging")[1]["log_verbose_level"] for peer in peers} == {1}
    peers[0].ask("logging", {"log_verbose_level": 0})
    asked = {"trace_level": ["TIMESTAMPS"], "trace_rate": "1", "trace_count": "3"}
    assert peers[1].ask("trace/setting", asked)[1]["trace_count"] == "3"
    for peer in peers:
        assert peer.alive
    assert peers[2].ask("trace/setting")[1]["trace_count"] == "0"
    assert peers[2].ask("trace/setting", {"trace_level": ["OFF"]})[0] == 200
    trace = "".join(file.read_text() for file in server.log.parent.glob("trace*"))
    assert trace.count("HTTP_RECV_START") == trace.count("COMPUTE_END") == 3


def test_a_front_end_that_is_killed_loses_its_own_connections_and_is_back(
    server: Runtime, peers: list[Peer]
) -> None:
    before = front_ends(server.process.pid)
    victim = min(before)
    slow = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "FP32", "data": [1]}]}
    with ThreadPoolExecutor(MANY) as pool:
        running = [pool.submit(peer.ask, "models/slow/infer", slow) for peer in peers]
        in_flight = 'shoal_in_flight_requests{protocol="http"} '
        wait_until(lambda: f"{in_flight}{MANY}" in server.metrics(), "all of them run")
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(front_ends(server.process.pid) - {victim}) == 2, "another one", 5.0)
        ends = [one.exception() or one.result()[0] for one in running]
    lost = [end for end in ends if end != 200]
    assert 0 < len(lost) < MANY
    assert all(isinstance(end, OSError) for end in lost)
    assert sum(peer.alive for peer in peers) == MANY - len(lost)
    fresh = [Peer(server) for _ in range(MANY)]
    assert all(peer.alive for peer in fresh)
    for peer in fresh:
        peer.socket.close()
    # what the dead one had asked for and still waited is not executed for nobody
    stats = peers[ends.index(200)].ask("models/slow/stats")[1]["model_stats"][0]
    assert stats["inference_stats"]["fail"]["count"] > 0


def test_a_core_that_is_killed_leaves_clean_errors_and_no_process(tmp_path: Path) -> None:
    root = tmp_path / "models"
    save_config(
        root,
        "slow",
        'backend: "identity"\n'
        'parameters { key: "execute_delay_ms" value { string_value: "20000" } }\n'
        'input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }\n'
        'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 }\n',
    )
    slow = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "FP32", "data": [1]}]}
    with runtime(root, "--frontends=2") as server:
        mine = front_ends(server.process.pid)
        peer = Peer(server)
        client = grpc_client.InferenceServerClient(server.grpc)
        given = grpc_client.InferInput("INPUT0", [1], "FP32")
        given.set_data_from_numpy(np.ones(1, dtype=np.float32))
        with ThreadPoolExecutor(2) as pool:
            http = pool.submit(peer.ask, "models/slow/infer", slow)
            grpc = pool.submit(client.infer, "slow", [given])
            wait_until(
                lambda: all(
                    f'shoal_in_flight_requests{{protocol="{name}"}} 1' in server.metrics()
                    for name in ("http", "grpc")
                ),
                "both run",
            )
            os.kill(server.process.pid, signal.SIGKILL)
            assert http.result(10) == (503, {"error": "the server's core has ended"})
            with pytest.raises(InferenceServerException, match="core has ended") as told:
                grpc.result(10)
        assert told.value.status() == "StatusCode.UNAVAILABLE"
        client.close()
        wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in mine), "they end", 10)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.http_port))


def test_at_the_end_running_requests_finish_and_nothing_is_left(tmp_path: Path) -> None:
    root = tmp_path / "models"
    save_config(
        root,
        "slow",
        'backend: "identity"\n'
        'parameters { key: "execute_delay_ms" value { string_value: "1000" } }\n'
        'input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }\n'
        'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: -1 }\n',
    )
    slow = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "FP32", "data": [1]}]}
    with runtime(root, "--frontends=2") as server:
        mine = front_ends(server.process.pid)
        peer, other = Peer(server), Peer(server)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(peer.ask, "models/slow/infer", slow)
            line = 'shoal_in_flight_requests{protocol="http"} 1'
            wait_until(lambda: line in server.metrics(), "it runs")
            for one in mine:
                os.kill(one, signal.SIGTERM)  # as a service manager does to all of them
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: other.ask("health/ready")[0] == 503, "it is told")
            assert other.ask("models/slow/infer", slow)[0] in (404, 503)
            assert running.result()[0] == 200
        assert server.process.wait(20) == 0
        assert not any(Path(f"/proc/{one}").exists() for one in mine)


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("--http-port={}", "already in use"),
        ("--http-header-forward-pattern=(", "is not a regular expression"),
    ],
)
def test_a_front_end_that_cannot_serve_ends_the_start(
    tmp_path: Path, server: Runtime, flag: str, why: str
) -> None:
    (root := tmp_path / "models").mkdir()
    flags = ("--frontends=2", flag.format(server.http_port))
    with pytest.raises(AssertionError, match=why), runtime(root, *flags):
        pass
