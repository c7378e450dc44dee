"""Tunings on a terminal: what is sent, what is printed, exit codes."""

from typing import Any

import httpx
import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
PATH = "/endpoints/net/deployments/blue/tunings"
TODAY = {"instances": 1, "batch": 8, "delay_us": 0}
FOUND = {"instances": 2, "batch": 16, "delay_us": 500}


def run(setting: dict[str, int], throughput: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "setting": setting, "reason": "promises most", "within": True, "throughput": throughput,
        "latency_us": None if throughput is None else 12e3, "level": 16.0,
        "memory_bytes": 200_000_000, "load_seconds": 0.5, "error": None, "frontier": False,
        "chosen": False, "points": [], **changes,
    }  # fmt: skip


TUNING: dict[str, Any] = {
    "id": "t1", "state": "Running", "endpoint": "net", "deployment": "blue", "revision": 3,
    "model": "net", "registered_model": "nets", "version": 4, "config_revision": None,
    "node": "gpu-1", "case": "", "mode": "concurrency", "levels": [16.0], "seconds": 2.0,
    "warm_up_s": 0.5, "slo_percentile": 99, "slo_ms": 20.0, "instances": [1, 2],
    "batch_sizes": [8, 16], "delays_us": [0, 500], "now": TODAY, "configurations": 8, "budget": 6,
    "measured": 1, "current": {"phase": "starting", "setting": FOUND, "reason": "promises most",
                               "points": 0},
    "stopped_by": "", "applied": None, "error": None, "created_by": "dora",
    "created_at": "2026-11-27T06:00:00Z", "finished_at": None, "gain": None,
    "runs": [run(TODAY, 100.0)],
}  # fmt: skip
FAILED = {"code": "GpuOutOfMemory", "message": "It needs more memory.", "detail": "", "hints": []}
DONE = TUNING | {
    "state": "Succeeded", "current": None, "measured": 3, "stopped_by": "6 runs were allowed",
    "gain": 0.8,
    "runs": [run(TODAY, 100.0, frontier=True), run(FOUND, 180.0, chosen=True, frontier=True),
             run({**FOUND, "instances": 8}, None, error=FAILED, within=False),
             run({**TODAY, "batch": 1}, 50.0, within=False)],
}  # fmt: skip


def test_one_is_started_followed_and_printed(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, f"POST {PATH}", TUNING, status=202)
    Sent(installed, "GET /tunings/t1", DONE)
    options = ["--slo", "p99=20", "--instances", "1..2", "--delays", "0,500", "--runs", "6"]
    assert main(["tune", "start", "net", "blue", *options, "--while-serving", "--watch"]) == 0
    body = sent.bodies[0]
    assert (body["instances"], body["delays_us"], body["batch_sizes"]) == ([1, 2], [0, 500], [])
    assert (body["slo_percentile"], body["slo_ms"], body["levels"]) == (99, 20, [])
    assert (body["runs"], body["while_serving"], body["mode"]) == (6, True, "concurrency")
    shown = capsys.readouterr()
    for text in ("6 of 8 configurations at most", "… 1 instance, batch 8, delay 0 µs: 100/s",
                 "measuring 2 instances, batch 16, delay 500 µs: promises most"):  # fmt: skip
        assert text in shown.err
    for text in ("most answers with p99 ≤ 20 ms", "chosen, frontier", "191 MiB",
                 "It needs more memory.", "over the objective", "+80% more answers than today",
                 "shoal tune apply t1 --roll-out"):  # fmt: skip
        assert text in shown.out


def test_memory_of_gpus_is_told_where_there_is_some(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /tunings/t1", DONE)
    assert main(["tune", "show", "t1"]) == 0
    assert "GPU MEMORY" not in capsys.readouterr().out
    runs = [run(TODAY, 100.0, gpu_memory_bytes=3 * 2**30), run(FOUND, None, error=FAILED)]
    Sent(installed, "GET /tunings/t1", DONE | {"runs": runs})
    assert main(["tune", "show", "t1"]) == 0
    shown = capsys.readouterr().out
    assert "GPU MEMORY" in shown and "3.00 GiB" in shown


def test_its_defaults_are_those_of_rest(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, f"POST {PATH}", TUNING, status=202)
    assert main(["tune", "start", "net", "blue"]) == 0
    assert (sent.bodies[0]["seconds"], sent.bodies[0]["warm_up_s"]) == (2.0, 0.5)
    assert main(["tune", "start", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "default: 4,16,64" in shown and "1..32]" not in shown


def test_one_that_fails_exits_1_and_says_why(installed: FakeServer, capsys: Capture) -> None:
    failed = TUNING | {"state": "Failed", "error": FAILED, "current": None, "runs": []}
    Sent(installed, f"POST {PATH}", failed, status=202)
    assert main(["tune", "start", "net", "blue", "--rate", "50", "--watch"]) == 1
    assert "It needs more memory." in capsys.readouterr().out


def test_ctrl_c_ends_it(installed: FakeServer) -> None:
    def interrupted(_: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    Sent(installed, f"POST {PATH}", TUNING, status=202)
    installed.fail_next("GET /tunings/t1", interrupted)
    Sent(installed, "POST /tunings/t1/cancel", TUNING | {"state": "Canceled", "current": None})
    assert main(["tune", "start", "net", "blue", "--watch"]) == 130
    assert installed.calls[-1] == "POST /tunings/t1/cancel"


def test_ctrl_c_as_it_ends_is_no_failure(installed: FakeServer, capsys: Capture) -> None:
    def interrupted(_: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    def ended(_: httpx.Request) -> httpx.Response:
        problem = {"code": "OperationFinished", "detail": "It has ended already: Succeeded."}
        return httpx.Response(409, json=problem)

    Sent(installed, f"POST {PATH}", TUNING, status=202)
    installed.fail_next("GET /tunings/t1", interrupted)
    installed.fail_next("POST /tunings/t1/cancel", ended)
    assert main(["tune", "start", "net", "blue", "--watch"]) == 130
    assert "ended already" not in capsys.readouterr().err


def test_it_is_saved_and_rolled_out(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "POST /tunings/t1/apply", DONE | {"applied": 2})
    assert main(["tune", "apply", "t1"]) == 0
    shown = capsys.readouterr()
    assert "revision 2 of nets" in shown.err and "--roll-out" in shown.err
    Sent(installed, "POST /tunings/t1/apply", DONE | {"applied": 2})
    changed = Sent(installed, "PATCH /endpoints/net/deployments/blue", {}, status=200)
    assert main(["tune", "apply", "t1", "--roll-out"]) == 0
    assert changed.bodies[0] == {"config_revision": 2}


def test_they_are_listed_shown_and_cancelled(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, f"GET {PATH}", page(TUNING))
    assert main(["tune", "list", "net", "blue"]) == 0
    assert "1 of 8" in capsys.readouterr().out
    Sent(installed, "GET /tunings/t1", DONE)
    assert main(["tune", "show", "t1", "--query", "gain", "-o", "json"]) == 0
    assert capsys.readouterr().out.strip() == "0.8"
    Sent(installed, "GET /tunings/t1", DONE)
    assert main(["tune", "watch", "t1"]) == 0
    Sent(installed, "POST /tunings/t1/cancel", TUNING | {"state": "Canceled", "current": None})
    assert main(["tune", "cancel", "t1"]) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rate", "1", "--concurrency", "1"], "give one"),
        (["--instances", "1.5"], "whole numbers"),
        (["--delays", "soon"], "--delays"),
        (["--instances", "8:1:1"], "8:1:1"),
        (["--concurrency", "64:4:4"], "64:4:4"),
    ],
)
def test_what_makes_no_sense_is_refused(
    installed: FakeServer, capsys: Capture, options: list[str], said: str
) -> None:
    assert main(["tune", "start", "net", "blue", *options]) == 2
    assert said in capsys.readouterr().err
    assert installed.calls == []
