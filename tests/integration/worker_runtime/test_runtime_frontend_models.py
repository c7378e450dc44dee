"""Models that run in front ends: who serves them, who counts, and what becomes of them."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
from tritonclient.utils import shared_memory

from tests.integration.worker_runtime.test_runtime_frontends import ADD, MANY, Peer, front_ends
from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until

HERE = 'parameters { key: "shoal_run_in_frontends" value { string_value: "true" } }\n'
CPU = "instance_group { kind: KIND_CPU count: 1 }\n"
RUNS = "runs in this front end"


@contextmanager
def serving(root: Path, *flags: str) -> Iterator[Runtime]:
    """Two front ends, both of which run the models."""
    with runtime(root, "--frontends=2", *flags) as found:
        wait_until(lambda: found.log.read_text().count(RUNS) >= 2, "both run it")
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("models-in-frontends") / "models"
    om.save(root, "simple", om.add_sub(), f"max_batch_size: 8\n{CPU}{HERE}")
    om.save(root, "core", om.add_sub(), f"max_batch_size: 8\n{CPU}")
    with serving(
        root,
        "--model-control-mode=explicit",
        "--load-model=*",
        f"--trace-config=triton,file={root.parent / 'trace'}",
        "--trace-config=triton,log-frequency=1",
    ) as found:
        yield found


@pytest.fixture
def peers(server: Runtime) -> Iterator[list[Peer]]:
    found = [Peer(server) for _ in range(MANY)]
    yield found
    for peer in found:
        peer.socket.close()


@contextmanager
def stopped(process_id: int) -> Iterator[None]:
    """A process that does nothing, not even end."""
    os.kill(process_id, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGCONT)


def counted(peer: Peer, model: str = "simple") -> int:
    return int(peer.ask(f"models/{model}/stats")[1]["model_stats"][0]["inference_count"])


def ends(peer: Peer) -> Any:
    return peer.ask("models/simple/stats")[1]["model_stats"][0]["inference_stats"]


def runs_everywhere(server: Runtime) -> bool:
    """As the core says: each front end has an instance beside its own one."""
    return 'shoal_model_instances{model="simple",version="1"} 3' in server.metrics()


def test_requests_are_answered_without_the_core(server: Runtime, peers: list[Peer]) -> None:
    wait_until(lambda: runs_everywhere(server), "both run it")
    before = counted(peers[0])
    client = grpc_client.InferenceServerClient(server.grpc)
    given = []
    for name in ("INPUT0", "INPUT1"):
        given.append(grpc_client.InferInput(name, [1, 16], "INT32"))
        given[-1].set_data_from_numpy(np.ones((1, 16), dtype=np.int32))
    client.infer("simple", given)
    with stopped(server.process.pid):
        for peer in peers:
            status, answer = peer.ask("models/simple/infer", ADD)
            assert status == 200
            assert answer["outputs"][0]["data"] == [2 * n for n in range(16)]
        assert client.infer("simple", given).as_numpy("OUTPUT0").tolist() == [[2] * 16]
        peers[0].socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            peers[0].ask("models/core/infer", ADD)
    assert counted(peers[1]) == before + MANY + 2
    client.close()


def test_statistics_and_metrics_tell_the_sum(server: Runtime, peers: list[Peer]) -> None:
    wait_until(lambda: runs_everywhere(server), "both run it")
    before = ends(peers[0])["success"]["count"]
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}
    client = grpc_client.InferenceServerClient(server.grpc)
    told = client.get_inference_statistics("simple").model_stats[0]
    client.close()
    assert told.inference_stats.success.count == before + MANY
    assert sum(batch.compute_infer.count for batch in told.batch_stats) == told.execution_count
    metrics = server.metrics()
    for line in (
        'nv_inference_request_success{model="simple",version="1"}',
        'shoal_inference_request_seconds_count{model="simple",version="1"}',
        'shoal_inference_compute_infer_seconds_count{model="simple",version="1"}',
    ):
        assert f"{line} {before + MANY}\n" in metrics
    size = int(told.memory_usage[0].byte_size)
    assert f'shoal_model_memory_bytes{{id="0",model="simple",type="CPU",version="1"}} {size}' in (
        metrics
    )
    assert size % 3 == 0


def test_what_is_the_cores_goes_to_the_core(server: Runtime, peers: list[Peer]) -> None:
    """Traced requests, and tensors in regions: through whichever front end they come."""
    wait_until(lambda: runs_everywhere(server), "both run it")
    asked = {"trace_level": ["TIMESTAMPS"], "trace_rate": "1", "trace_count": str(MANY)}
    assert peers[0].ask("trace/setting", asked)[0] == 200
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}
    assert peers[0].ask("trace/setting", {"trace_level": ["OFF"]})[0] == 200
    trace = "".join(file.read_text() for file in server.log.parent.glob("trace*"))
    assert trace.count("COMPUTE_END") == MANY
    key = f"/shoal-frontend-models-{os.getpid()}"
    region = shared_memory.create_shared_memory_region("part", key, 256)
    clients = [grpc_client.InferenceServerClient(server.grpc) for _ in range(MANY)]
    try:
        ones = np.ones((1, 16), dtype=np.int32)
        shared_memory.set_shared_memory_region(region, [ones])
        clients[0].register_system_shared_memory("part", key, 256)
        for client in clients:
            inside, raw = (grpc_client.InferInput(f"INPUT{n}", [1, 16], "INT32") for n in (0, 1))
            inside.set_shared_memory("part", 64)
            raw.set_data_from_numpy(ones)
            wanted = grpc_client.InferRequestedOutput("OUTPUT0")
            wanted.set_shared_memory("part", 64, 64)
            plain = grpc_client.InferRequestedOutput("OUTPUT1")
            answer = client.infer("simple", [inside, raw], outputs=[wanted, plain])
            assert answer.as_numpy("OUTPUT1").tolist() == [[0] * 16]
            found = shared_memory.get_contents_as_numpy(region, np.int32, [2, 16])
            assert found[1].tolist() == [2] * 16
            found[1] = 0
        clients[1].unregister_system_shared_memory("part")
    finally:
        shared_memory.destroy_shared_memory_region(region)
        for client in clients:
            client.close()


def test_a_reload_loses_no_request_and_an_unload_leaves_nobody_who_serves(
    server: Runtime, peers: list[Peer]
) -> None:
    done = threading.Event()

    def ask(peer: Peer) -> list[int]:
        found = []
        while not done.is_set():
            found.append(peer.ask("models/simple/infer", ADD)[0])
        return found

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, peer) for peer in peers[:4]]
        for rows in (4, 5, 6, 7):
            config = {
                "max_batch_size": rows,
                "backend": "onnxruntime",
                "instance_group": [{"kind": "KIND_CPU", "count": 1}],
                "parameters": {"shoal_run_in_frontends": {"string_value": "true"}},
            }
            body = {"parameters": {"config": json.dumps(config)}}
            assert peers[5].ask("repository/models/simple/load", body)[0] == 200
            wait_until(lambda: runs_everywhere(server), "both run the new one")
        done.set()
        statuses = [status for one in asking for status in one.result()]
    assert set(statuses) == {200}
    two_rows = {
        "inputs": [{**one, "shape": [8, 16], "data": one["data"] * 8} for one in ADD["inputs"]]
    }
    refused = [peer.ask("models/simple/infer", two_rows) for peer in peers]
    assert {status for status, _ in refused} == {400}, "all serve the newest one"
    assert peers[5].ask("repository/models/simple/unload", {})[0] == 200
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {404}
    assert peers[5].ask("repository/models/simple/load", {})[0] == 200
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}
    wait_until(lambda: runs_everywhere(server), "both run it")


def test_other_instances_are_taken_over_and_what_was_counted_stays(
    server: Runtime, peers: list[Peer]
) -> None:
    wait_until(lambda: runs_everywhere(server), "both run it")
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}
    before = counted(peers[0])
    assert before >= MANY
    path = server.log.parent / "models" / "simple" / "config.pbtxt"
    text = path.read_text()
    for config, instances in ((text.replace("count: 1", "count: 2"), 6), (text, 3)):
        path.write_text(config)
        assert peers[0].ask("repository/models/simple/load", {})[0] == 200
        line = f'shoal_model_instances{{model="simple",version="1"}} {instances}\n'
        wait_until(lambda line=line: line in server.metrics(), line)
        assert counted(peers[0]) == before


def test_a_front_end_that_is_killed_leaves_its_counters_and_another_runs_the_model(
    server: Runtime, peers: list[Peer]
) -> None:
    wait_until(lambda: runs_everywhere(server), "both run it")
    assert {peer.ask("models/simple/infer", ADD)[0] for peer in peers} == {200}
    before = counted(peers[0])
    victim = min(front_ends(server.process.pid))
    loads = server.log.read_text().count(RUNS)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: server.log.read_text().count(RUNS) > loads, "another one runs it")
    wait_until(lambda: runs_everywhere(server), "both run it again")
    fresh = [Peer(server) for _ in range(MANY)]
    assert counted(fresh[0]) == before
    with stopped(server.process.pid):
        assert {peer.ask("models/simple/infer", ADD)[0] for peer in fresh} == {200}
    assert counted(fresh[0]) == before + MANY
    for peer in fresh:
        peer.socket.close()


def test_a_model_whose_files_have_changed_is_not_loaded_in_another_state_than_the_cores(
    tmp_path: Path,
) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), f"max_batch_size: 8\n{CPU}{HERE}")
    with serving(root) as server:
        om.save(root, "simple", om.refused())
        os.kill(min(front_ends(server.process.pid)), signal.SIGKILL)
        wait_until(lambda: "have changed since" in server.log.read_text(), "it is said")
        fresh = [Peer(server) for _ in range(MANY)]
        assert {peer.ask("models/simple/infer", ADD)[0] for peer in fresh} == {200}
        assert counted(fresh[0]) == MANY
        for peer in fresh:
            peer.socket.close()
        assert server.log.read_text().count("have changed since") == 1
        assert 'shoal_model_instances{model="simple",version="1"} 2' in server.metrics()


WAITS = (
    f"max_batch_size: 8\n{CPU}{HERE}dynamic_batching {{ preferred_batch_size: 8 "
    "max_queue_delay_microseconds: %d }\n"
)
PENDING = 'nv_inference_pending_request_count{model="simple",version="1"}'


def test_at_the_end_what_front_ends_run_is_answered(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), WAITS % 4_000_000)
    with serving(root) as server:
        mine = front_ends(server.process.pid)
        peers = [Peer(server) for _ in range(2)]
        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(peer.ask, "models/simple/infer", ADD) for peer in peers]
            wait_until(lambda: f"{PENDING} 2" in server.metrics(), "they wait, in front ends")
            server.process.send_signal(signal.SIGTERM)
            assert [one.result(20)[0] for one in running] == [200, 200]
        assert server.process.wait(20) == 0
        assert not any(Path(f"/proc/{one}").exists() for one in mine)


def test_a_core_that_is_killed_leaves_front_ends_their_last_answers(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), WAITS % 1_800_000)
    with serving(root) as server:
        mine = front_ends(server.process.pid)
        peer = Peer(server)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(peer.ask, "models/simple/infer", ADD)
            wait_until(lambda: f"{PENDING} 1" in server.metrics(), "it waits, in a front end")
            server.process.kill()
            assert running.result(10)[0] == 200
        wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in mine), "they end", 10)


def test_a_model_that_cannot_run_in_front_ends_says_why_and_is_served(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), f"max_batch_size: 8\n{CPU}{HERE}")
    with runtime(root, "--frontends=2", "--rate-limit=execution_count") as server:
        peer = Peer(server)
        assert peer.ask("models/simple/infer", ADD)[0] == 200
        text = server.log.read_text()
        assert text.count("runs in the core alone") == 1
        assert "'shoal_run_in_frontends' is true: --rate-limit shares resources" in text
        assert RUNS not in text
        peer.socket.close()
