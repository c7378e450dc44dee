"""Parts are killed, or pulled, while calls go on."""

from tests.chaos.studio import until
from tests.production.calls import CallsCase
from tests.production.cluster import Pod
from tests.production.installed import NODES, Installed


def killed(pod: Pod) -> None:
    """Every container of it, at once and without warning; the kubelet starts them again."""
    for container in pod.containers.values():
        container.kill()


def test_a_gateway_is_killed(installed: Installed, case: CallsCase) -> None:
    """One of two gateways killed (SIGKILL)."""
    installed.endpoint("two-ways", instance_count=2)
    victim = installed.cluster.of("gateway")[0]
    with case.under(installed.calls("two-ways")) as calls:
        with calls.killing():
            killed(victim)
        calls.more(300)
        until(lambda: victim.restarts and victim.ready, "it is back")
        calls.more(100)
    assert calls.unexcused == 0, calls.explain()
    assert calls.in_flight <= calls.at_once
    installed.studio.delete("two-ways")
    case.saw("it came back by itself, and was led to again")


def test_a_node_is_pulled(installed: Installed, case: CallsCase) -> None:
    """One of three nodes pulled: its cable first, then everything on it."""
    studio, cluster = installed.studio, installed.cluster
    installed.endpoint("pulled", instance_count=NODES)
    victim = cluster.of("node-cpu")[0]
    with case.under(installed.calls("pulled")) as calls:
        victim.vanish()
        cluster.await_ready([cluster.create("node-cpu")])  # as its Deployment would

        def elsewhere() -> bool:
            ready = [each for each in studio.replicas("pulled") if each["state"] == "ready"]
            return len(ready) == NODES and all(each["node"] != victim.name for each in ready)

        until(elsewhere, "three replicas on the nodes that are left")
        calls.more(100)
    assert calls.lost == 0, calls.explain()  # what was under way there is asked elsewhere
    studio.delete("pulled")
    assert studio.http.delete(f"/nodes/{victim.name}?force=true").is_success
    case.saw("its replica on the node that came in its place")


def test_a_web_is_killed(installed: Installed, case: CallsCase) -> None:
    """One of two webs killed (SIGKILL), while people read."""
    victim = installed.cluster.of("web")[0]
    with case.under(installed.reads()) as reads:
        with reads.killing():
            killed(victim)
        reads.more(200)
        until(lambda: victim.restarts and victim.ready, "it is back")
        reads.more(100)
    assert reads.unexcused == 0, reads.explain()
    assert reads.in_flight <= reads.at_once


def test_workers_are_killed(installed: Installed, case: CallsCase) -> None:
    """Control worker, ingest worker, an agents' port and a beat killed mid-deploy."""
    studio, cluster = installed.studio, installed.cluster
    installed.endpoint("served-on", instance_count=2)
    victims = [cluster.of(kind)[0] for kind in ("worker", "ingest", "agents", "beat")]
    with case.under(installed.calls("served-on")) as calls:
        operation = studio.deploy("resumed", "tiny", instance_count=NODES)
        for victim in victims:
            killed(victim)
        ended = studio.succeeded(operation)
        studio.register("taken-in")
        for victim in victims:
            until(lambda victim=victim: victim.restarts and victim.ready, f"{victim.name} again")
        calls.more(100)
    assert calls.lost == 0, calls.explain()
    assert [stage["status"] for stage in ended["stages"]] == ["succeeded"] * len(ended["stages"])
    assert studio.events("endpoint/resumed").count("replica.placed") == NODES
    for name in ("served-on", "resumed"):
        studio.delete(name)
    case.saw("the same operation went on and succeeded; a model was taken in")
