"""People at the same time, keys that must act soon, versions and clocks that differ."""

import concurrent.futures
import threading
import time
from collections import Counter

import httpx
import pytest

from tests.chaos.load import BODY
from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case

ROUNDS = 5
PROMISE_S = 5.0

# A node agent of another time: what it says has words that we do not know yet.
NEWER = """
import dataclasses, json, runpy
from wire import codec
plain = codec.encode
def encode(message):
    data = json.loads(plain(message))
    data["mood"] = {"fine": True}
    if "node" in data and isinstance(data["node"], dict):
        data["node"] |= {"agent_version": "99.0", "wire_version": 2, "quantum_cores": 7}
    return json.dumps(data).encode()
codec.encode = encode
runpy.run_module("node_agent", run_name="__main__")
"""
# One of an earlier time: it does not say what came later, and calls no resource that came later.
OLDER = """
import json, runpy
from wire import codec
from node_agent import client
plain = codec.encode
def encode(message):
    data = json.loads(plain(message))
    data.pop("sent_at", None)
    if isinstance(data.get("node"), dict):
        for word in [w for w in data["node"] if w.startswith(("cache_", "heartbeat_", "disk_p"))]:
            del data["node"][word]
        data["node"] |= {"agent_version": "0.0.9"}
    return json.dumps(data).encode()
codec.encode = encode
async def unknown(self, report):
    raise client.Refused(404, "not here")
client.ControlClient.cache = unknown
runpy.run_module("node_agent", run_name="__main__")
"""
# One whose clock is two minutes fast.
FAST_CLOCK = """
import runpy, time
now = time.time
time.time = lambda: now() + 120
runpy.run_module("node_agent", run_name="__main__")
"""


@pytest.mark.quick
def test_two_users_at_once(system: System, pair: dict[str, str], case: Case) -> None:
    """Two users change the same things at once."""
    studio = system.studio
    system.endpoint("shared", node_labels=pair)
    studio.succeeded(studio.deploy("shared", "tiny", name="green", node_labels=pair, traffic=0))
    answers: Counter[int] = Counter()
    for number in range(ROUNDS):
        tag = studio.http.get("/endpoints/shared").headers["etag"]
        wishes = [
            {"blue": 90 - number, "green": 10 + number},
            {"blue": 60 - number, "green": 40 + number},
        ]
        both = at_once(studio.http, "PUT", "/endpoints/shared/traffic", wishes, {"If-Match": tag})
        assert sorted(both) == [200, 412], both
        answers.update(both)
        now = studio.get("/endpoints/shared")["traffic"]
        assert now in wishes, "one of the two, never a mixture"
    path = "/endpoints/shared/deployments/blue/update"
    updates = [{"environment": {"WHO": who}} for who in ("ada", "bob")]
    both = send_at_once(studio.http, "POST", path, updates)
    assert sorted(both) == [202, 409], both
    answers.update(both)
    until(
        lambda: studio.deployment("shared")["provisioning_state"] == "Succeeded", "the update ends"
    )
    studio.delete("shared")
    case.saw(", ".join(f"{count} x {code}" for code, count in sorted(answers.items())))


def at_once(
    http: httpx.Client,
    method: str,
    path: str,
    wishes: list[dict[str, int]],
    headers: dict[str, str],
) -> list[int]:
    bodies = [{"traffic": wish} for wish in wishes]
    return send_at_once(http, method, path, bodies, headers)


def send_at_once(
    http: httpx.Client,
    method: str,
    path: str,
    bodies: list[object],
    headers: dict[str, str] | None = None,
) -> list[int]:
    together = threading.Barrier(len(bodies))

    def send(body: object) -> int:
        together.wait()
        return http.request(method, path, json=body, headers=headers).status_code

    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(send, bodies))


@pytest.mark.quick
def test_keys_act_soon(system: System, pair: dict[str, str], case: Case) -> None:
    """Keys: a new one opens, the old one is refused."""
    studio = system.studio
    system.endpoint("keyed", node_labels=pair)
    url = studio.infer_url("keyed", "tiny")
    live, revoked = [], []
    for _ in range(ROUNDS):
        old = studio.key("keyed")
        began = time.monotonic()
        made = studio.send("POST", "/endpoints/keyed/keys/regenerate", {"key_type": "primary"})
        answers(url, made["primaryKey"], 200)
        live.append(time.monotonic() - began)
        answers(url, old, 401)
        revoked.append(time.monotonic() - began)
        assert status(url, made["secondaryKey"]) == 200
    studio.delete("keyed")
    case.saw(f"at most {max(live):.1f} s to live, {max(revoked):.1f} s to revoked (promised: 5 s)")
    assert max(live + revoked) < 4 * PROMISE_S  # generous: the machine may be busy


def answers(url: str, key: str, code: int) -> None:
    until(lambda: status(url, key) == code, f"a key is answered with {code}")


def status(url: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(url, json=BODY, headers=headers, trust_env=False, timeout=10).status_code


def test_versions_differ(system: System, case: Case) -> None:
    """Agent newer than the control plane."""
    studio = system.studio
    node = system.new_node("newer")
    node.program = ("-c", NEWER)
    node.start()
    try:
        system.online("newer")
        system.endpoint("skewed", node_labels=system.label("newer", "newer"))
        with case.under(system.load("skewed")) as load:
            load.more(40)
        shown = studio.node("newer")
        assert shown["info"]["agent_version"] == "99.0"
        assert "VersionSkew" in [item["code"] for item in shown["conditions"]]
        assert load.lost == 0, load.explain()
        studio.delete("skewed")
        case.saw("unknown words are ignored; the node says VersionSkew")
    finally:
        system.remove_node("newer")


def test_an_older_agent_is_upgraded(system: System, pair: dict[str, str], case: Case) -> None:
    """Agent older than the control plane: drained, upgraded, uncordoned."""
    studio = system.studio
    node = system.new_node("older")
    today, node.program = node.program, ("-c", OLDER)
    node.start()
    try:
        system.online("older")
        system.endpoint("aging", node_labels=system.label("ages", "older"))
        system.label("ages", "n1")
        assert "VersionSkew" in codes(system, "older")
        with case.under(system.load("aging")) as load:
            studio.send("POST", "/nodes/older/drain", {"deadline_s": 120})
            until(lambda: (studio.node("older")["drain"] or {}).get("done"), "older is empty")
            assert node.process is not None
            node.process.terminate()
            node.process.wait(60)
            node.program = today
            node.start()
            until(lambda: "VersionSkew" not in codes(system, "older"), "upgraded")
            studio.send("POST", "/nodes/older/uncordon")
            studio.send("POST", "/nodes/n1/drain", {"deadline_s": 120})
            until(lambda: (studio.node("n1")["drain"] or {}).get("done"), "n1 is empty")
            load.more(40)
        assert [replica["node"] for replica in studio.replicas("aging")] == ["older"]
        assert load.lost == 0, load.explain()
        studio.delete("aging")
        case.saw("served, said VersionSkew; emptied, upgraded and taken back without a loss")
    finally:
        studio.http.post("/nodes/n1/uncordon")
        system.remove_node("older")


def codes(system: System, node: str) -> list[str]:
    return [item["code"] for item in system.studio.node(node)["conditions"]]


def test_clocks_differ(system: System, case: Case) -> None:
    """Node's clock is two minutes fast."""
    studio = system.studio
    node = system.new_node("fast")
    node.program = ("-c", FAST_CLOCK)
    node.start()
    try:
        system.online("fast")
        system.endpoint("hasty", node_labels=system.label("fast", "fast"))
        with case.under(system.load("hasty")) as load:
            load.more(40)
        conditions = until(lambda: studio.node("fast")["conditions"], "a condition")
        assert [item["code"] for item in conditions] == ["ClockSkew"]
        assert "12" in conditions[0]["message"]
        assert load.lost == 0, load.explain()
        studio.delete("hasty")
        case.saw("deployed and served; the node says ClockSkew with its seconds")
    finally:
        system.remove_node("fast")
