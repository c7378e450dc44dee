"""A node that joined and lies: everybody else is deployed, and keys are revoked, as promised."""

import json
import time
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.load import BODY
from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case

PROMISE_S = 5.0
# Its words are an honest agent's, but for the file `lie.json` in its home.
LYING = """
import json, os, pathlib, runpy
from wire import codec
plain = codec.encode
file = pathlib.Path(os.environ["SHOAL_HOME"]) / "lie.json"
def encode(message):
    data = json.loads(plain(message))
    lie = json.loads(file.read_text()) if file.exists() else {}
    if isinstance(data.get("node"), dict):
        data["node"] |= lie.get("node", {})
    for replica in data.get("replicas", []):
        if replica.get("http_port"):
            replica |= lie.get("replica", {})
    return json.dumps(data).encode()
codec.encode = encode
runpy.run_module("node_agent", run_name="__main__")
"""
HUGE = "x" * 200_000


def lies(system: System) -> dict[str, dict[str, Any]]:
    """By what it is about; each is told for as long as another endpoint is deployed."""
    theirs = {"http_port": system.redis_port, "grpc_port": system.redis_port}
    return {
        "no address": {"replica": {"address": "not an address"}},
        "another node's address": {"replica": {"address": "192.0.2.77"}},
        "the metadata service": {"replica": {"address": "169.254.169.254"}},
        "no port": {"replica": {"http_port": 0}},
        "a port too high": {"replica": {"grpc_port": 70_000}},
        "a stranger's port": {"replica": theirs},
        "no address of its own": {"node": {"address": "gpu.example"}},
        "huge texts": {"node": {"agent_version": HUGE, "labels": {HUGE: HUGE}}},
        "numbers below zero": {"node": {"memory_total_bytes": -1, "cpu_utilization": -5.0}},
    }


def test_a_node_that_lies(system: System, pair: dict[str, str], case: Case) -> None:
    """Joined node lies about addresses, ports, texts and numbers."""
    studio = system.studio
    system.endpoint("honest", node_labels=pair)
    liar = system.new_node("liar")
    liar.program = ("-c", LYING)
    liar.start()
    system.online("liar")
    system.endpoint("lied", node_labels=system.label("liar", "liar"))
    slowest = 0.0
    try:
        with case.under(system.load("honest")) as load:
            for number, (what, lie) in enumerate(lies(system).items()):
                tell(liar.home / "lie.json", lie)
                if "replica" in lie and what != "a stranger's port":
                    until(lambda: "failed" in states(system), f"believed: {what}", 60)
                system.endpoint(f"next-{number}", node_labels=pair)
                slowest = max(slowest, revoked(system, f"next-{number}"))
                studio.delete(f"next-{number}")
                load.more(20)
                tell(liar.home / "lie.json", {})
        assert load.lost == 0, load.explain()
        assert studio.events("node/liar").count("node.claim_refused") >= 5
        assert "gateway.failed" not in studio.events("gateway/local")
    finally:
        studio.delete("lied")
        system.remove_node("liar")
        studio.delete("honest")
    assert slowest < PROMISE_S
    case.saw(f"told and left out; others were deployed, a key revoked in {slowest:.1f} s at most")


def tell(file: Path, lie: dict[str, Any]) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps(lie))
    temporary.replace(file)


def states(system: System) -> list[str]:
    return [replica["state"] for replica in system.studio.replicas("lied")]


def revoked(system: System, name: str) -> float:
    """Seconds from asking for a new key until the one before opens nothing."""
    studio = system.studio
    url, key = studio.infer_url(name, "tiny"), studio.key(name)

    def status(with_key: str) -> int:
        headers = {"Authorization": f"Bearer {with_key}"}
        return httpx.post(url, json=BODY, headers=headers, trust_env=False).status_code

    assert status(key) == 200
    began = time.monotonic()
    studio.send("POST", f"/endpoints/{name}/keys/regenerate", {"key_type": "primary"})
    until(lambda: status(key) == 401, f"the key before of {name} is revoked", 30)
    took = time.monotonic() - began
    assert status(studio.key(name)) == 200
    return took
