"""What was broken when it was first tried past one machine, asked anew of everything at once."""

import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.chaos.studio import RAW, tiny_model, until
from tests.production.calls import CallsCase
from tests.production.cluster import Pod
from tests.production.installed import STUDIO, Installed
from tests.support.helm_chart import ROOT
from tests.support.reaper import clean_environment

PATHS = ("endpoints", "nodes", "models", "operations", "overview", "system")
PROBE_S = 4.0  # what the chart gives a web's readiness


def shoal(installed: Installed, *words: str) -> "subprocess.CompletedProcess[str]":
    """The command line, as somebody elsewhere uses it."""
    told = {"SHOAL_URL": STUDIO, "SHOAL_TOKEN": installed.token, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "shoal", *words],
        env={**clean_environment(), **told, "SHOAL_HOME": str(installed.cluster.folder / "client")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def probe(pod: Pod, path: str) -> tuple[int, str, float]:
    """Status and text of a web's own probe, and the seconds it took."""
    began = time.monotonic()
    answer = httpx.get(f"http://{pod.pocket.address}:8080{path}", trust_env=False, timeout=30)
    return answer.status_code, answer.text, time.monotonic() - began


def test_many_at_once_through_the_proxy(installed: Installed, case: CallsCase) -> None:
    """200 requests, 20 at a time, by way of the proxy: none is told 503."""
    headers = {"Authorization": f"Bearer {installed.token}"}
    with (
        httpx.Client(base_url=f"{STUDIO}/api/v1/", headers=headers, trust_env=False) as client,
        ThreadPoolExecutor(20) as threads,
    ):
        asked = (PATHS[number % len(PATHS)] for number in range(200))
        codes = Counter(threads.map(lambda path: client.get(path, timeout=60).status_code, asked))
    case.saw(f"answers {dict(codes)}; {installed.neighbours.postgres.connections()} connections")
    assert codes == {200: 200}


def test_postgresql_freezes(installed: Installed, case: CallsCase) -> None:
    """PostgreSQL frozen (SIGSTOP): probes answer in time, calls go on."""
    web = installed.cluster.of("web")[0]
    installed.endpoint("unfrozen")
    restarts = len(installed.cluster.restarts())
    with case.under(installed.calls("unfrozen")) as calls:
        with installed.neighbours.postgres.frozen():
            ready, alive = [probe(web, "/readyz") for _ in range(3)], probe(web, "/livez")
            calls.more(200)
        until(lambda: probe(web, "/readyz")[0] == 200, "it is ready again")
        until(lambda: installed.studio.patiently("/endpoints") is not None, "REST answers")
        calls.more(50)
    assert calls.lost == 0, calls.explain()
    assert [status for status, *_ in ready] == [503] * 3
    assert alive[0] == 200
    longest = max(took for *_, took in ready)
    assert longest < PROBE_S
    assert installed.cluster.restarts()[restarts:] == []
    installed.studio.delete("unfrozen")
    case.saw(f"/readyz 503 within {longest:.1f} s, /livez 200; nothing was started again")


def test_redis_is_away(installed: Installed, case: CallsCase) -> None:
    """Redis away: webs are ready and say that they are degraded."""
    web = installed.cluster.of("web")[0]
    with case.under(installed.reads()) as reads:
        installed.neighbours.redis.kill()
        status, text, took = probe(web, "/readyz")
        reads.more(50)
        installed.neighbours.redis.start()
        until(lambda: not json.loads(probe(web, "/readyz")[1])["degraded"], "all is well again")
        reads.more(50)
    told = json.loads(text)
    assert (status, told["ready"], told["degraded"]) == (200, True, True)
    assert took < PROBE_S
    assert reads.lost == 0, reads.explain()
    case.saw(f"200 with degraded, within {took:.1f} s")


def test_a_silent_gateway_has_not_confirmed(installed: Installed, case: CallsCase) -> None:
    """A key replaced while a gateway's agent is frozen: said to be unconfirmed, by its name."""
    studio, gateway = installed.studio, installed.cluster.of("gateway")[0]
    installed.endpoint("locked")
    old = studio.key("locked")

    def status() -> int:
        url = f"http://{gateway.pocket.address}:8090/endpoints/locked/v2/health/ready"
        headers = {"Authorization": f"Bearer {old}"}
        return httpx.get(url, headers=headers, trust_env=False).status_code

    assert status() == 200
    with gateway.containers["agent"].frozen():
        done = shoal(
            installed,
            "online-endpoint",
            "regenerate-keys",
            "-n",
            "locked",
            "--key-type",
            "primary",
            "--yes",
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert f"not confirmed by gateway {gateway.name}" in done.stdout + done.stderr
        assert status() == 200  # which is why it must be said
        shown = studio.get("/endpoints/locked")["unconfirmed"]
        assert [each["gateway"] for each in shown] == [gateway.name]
    until(lambda: status() == 401, "the old key opens nothing")
    until(lambda: not studio.get("/endpoints/locked")["unconfirmed"], "confirmed by all")
    studio.delete("locked")
    case.saw(f"`not confirmed by gateway {gateway.name}`, exit 1; refused once it was back")


def test_a_gateway_leaves(installed: Installed, case: CallsCase) -> None:
    """A gateway's pod deleted (its hook, then SIGTERM) under load: it drains."""
    cluster = installed.cluster
    installed.endpoint("drained", instance_count=2)
    old = cluster.of("gateway")[0]
    with case.under(installed.calls("drained")) as calls:
        cluster.await_ready([cluster.create("gateway")])
        cluster.delete(old)
        calls.more(100)
    assert calls.lost == 0, calls.explain()
    parts = installed.studio.get("/system")["parts"]
    assert old.name not in {part["name"] for part in parts}
    installed.studio.delete("drained")
    case.saw("it is on no list any more")


def test_a_node_leaves(installed: Installed, case: CallsCase) -> None:
    """A node's pod deleted (its hook, then SIGINT) under load: emptied first."""
    cluster = installed.cluster
    installed.endpoint("emptied", instance_count=2)
    old = installed.hosts("emptied")[0]
    with case.under(installed.calls("emptied")) as calls:
        cluster.await_ready([cluster.create(old.kind)])
        cluster.delete(old)
        calls.more(100)
    assert calls.lost == 0, calls.explain()
    assert old.name not in {node["name"] for node in installed.studio.get("/nodes")["items"]}
    installed.studio.delete("emptied")


def test_an_upload_over_two_webs(installed: Installed, case: CallsCase) -> None:
    """An upload whose chunks go to two webs in turn is one model."""
    content = tiny_model() + bytes(3 << 20)  # what follows the graph is not read
    studio, webs = installed.studio, installed.cluster.of("web")
    headers = {"Authorization": f"Bearer {installed.token}", "Content-Type": RAW}
    upload = studio.send("POST", "/uploads", {"filename": "two.bin", "size": len(content)})
    for number, start in enumerate(range(0, len(content), 1 << 20)):
        web = webs[number % len(webs)]
        url = f"http://{web.pocket.address}:8080/api/v1/uploads/{upload['id']}"
        answer = httpx.patch(
            url,
            content=content[start : start + (1 << 20)],
            headers={**headers, "Upload-Offset": str(start)},
            trust_env=False,
            timeout=30,
        )
        assert answer.is_success, answer.text
    studio.send("POST", f"/uploads/{upload['id']}/complete", {})
    ended = studio.settled(f"/uploads/{upload['id']}", ("ready", "failed"))
    verified = next(step for step in ended["steps"] if step["name"] == "verify")
    assert verified["status"] == "succeeded", ended
    case.saw(f"{number + 1} chunks over {len(webs)} webs, verified as one")


def complaints(installed: Installed) -> set[str]:
    """The subjects of which `shoal doctor` says that they have failed."""
    found = json.loads(shoal(installed, "doctor", "--output", "json").stdout)
    return {each["subject"] for each in found if each["status"] == "failed"}


@pytest.mark.timeout(420)
def test_doctor_sees_what_is_missing(installed: Installed, case: CallsCase) -> None:
    """`shoal doctor` sees beats, control workers and a gateway that are gone, and then all well."""
    cluster, parts = installed.cluster, installed.studio.get("/system")["parts"]
    assert complaints(installed) == set()
    gone = [*cluster.of("beat"), *cluster.of("worker"), cluster.of("gateway")[0]]
    lost = gone[-1].name
    wanted = {part["name"] for part in parts if part["kind"] in ("beat", "worker")}
    assert len(wanted) >= 2, parts
    for pod in gone:
        pod.vanish()
    until(lambda: complaints(installed) >= {f"Gateway agent {lost}"}, "doctor misses it", 60)
    until(lambda: complaints(installed) & wanted, "doctor misses who does the jobs", 120)
    missed = complaints(installed)
    cluster.await_ready([cluster.create(pod.kind) for pod in gone])
    done = shoal(installed, "gateway", "remove", lost)
    assert done.returncode == 0, done.stderr
    until(lambda: not complaints(installed), "doctor is content again")
    case.saw(f"missed {', '.join(sorted(missed))}")
