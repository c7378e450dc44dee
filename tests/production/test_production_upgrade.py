"""From the version before to this one, part by part in both orders, while calls go on.

The tests of this file are the steps of one upgrade: each begins where the one before it ended.
"""

from collections.abc import Iterator

import pytest

from tests.chaos.studio import until
from tests.production.calls import CallsCase
from tests.production.installed import NODES, THIS, Installed, Stage
from tests.production.locks import Locks
from tests.production.previous import previous, same_packages

CONTROL = ("web", "agents", "worker", "ingest", "beat")
LONGEST_LOCK_S = 1.0
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def upgraded(stage: Stage, case: CallsCase) -> Iterator[Installed]:
    """What began as the version before, with an endpoint on each of its nodes."""
    old = previous(stage.folder)
    installed = stage.of(old)
    if installed.studio.http.get("/endpoints/rolled").status_code == 404:
        installed.endpoint("rolled", instance_count=NODES)
    case.saw(f"from {old.root.name}")
    if not same_packages(old):
        case.saw("with this version's packages")
    yield installed


def renew_agents(installed: Installed, *, forward: bool, old: Stage) -> None:
    """Each node's agent ends in order and comes again as the other version; its replicas stay."""
    release = THIS if forward else previous(old.folder)
    for node in installed.cluster.of("node-cpu"):
        before = {process.pid for process in installed.runtimes(node)}
        node.containers["node"].renew(release)
        installed.cluster.await_ready([node])
        until(
            lambda node=node: installed.studio.node(node.name)["state"] == "online",
            f"{node.name} is online",
        )
        assert {process.pid for process in installed.runtimes(node)} == before != set()


def works(installed: Installed, name: str) -> None:
    """A model is taken in, deployed, and gone again."""
    installed.studio.register(name)
    installed.endpoint(name, name, instance_count=NODES)
    with installed.calls(name, name) as calls:
        calls.more(20)
    assert calls.lost == 0, calls.explain()
    installed.studio.delete(name)


def test_gateways_and_agents_first(upgraded: Installed, stage: Stage, case: CallsCase) -> None:
    """Gateways and node agents of this version, the control plane still of the one before."""
    with case.under(upgraded.calls("rolled")) as calls:
        upgraded.cluster.roll("gateway", THIS)
        renew_agents(upgraded, forward=True, old=stage)
        works(upgraded, "edge-first")
        calls.more(50)
    assert calls.lost == 0, calls.explain()
    case.saw("replicas adopted; deployed by old control plane on new agents")


def test_the_set_up_while_people_work(upgraded: Installed, case: CallsCase) -> None:
    """The set-up of this version migrates; the control plane before it works on the new schema."""
    url = upgraded.neighbours.postgres.server.get_uri("shoal")
    with case.under(upgraded.reads()) as reads:
        with Locks(url) as locks:
            upgraded.cluster.job("setup", THIS)
        reads.more(100)
        works(upgraded, "old-on-new-schema")
    assert reads.lost == 0, reads.explain()
    assert locks.longest_s < LONGEST_LOCK_S
    case.saw(f"locked: {locks.told()}")


def test_the_control_plane(upgraded: Installed, case: CallsCase) -> None:
    """Webs, agents' ports, workers, ingest and beats, all kinds at once, pod by pod."""
    with (
        case.under(upgraded.calls("rolled")) as calls,
        case.under(upgraded.reads()) as reads,
    ):
        upgraded.cluster.roll_all(CONTROL, THIS)
        works(upgraded, "control-plane")
        calls.more(50)
        reads.more(50)
    assert calls.lost == 0, calls.explain()
    assert reads.lost == 0, reads.explain()
    assert {pod.release for kind in CONTROL for pod in upgraded.cluster.of(kind)} == {THIS}


def test_gateways_and_agents_last(upgraded: Installed, stage: Stage, case: CallsCase) -> None:
    """Gateways and agents of the version before under this control plane, then of this one."""
    with case.under(upgraded.calls("rolled")) as calls:
        upgraded.cluster.roll("gateway", previous(stage.folder))
        renew_agents(upgraded, forward=False, old=stage)
        works(upgraded, "edge-last")
        upgraded.cluster.roll("gateway", THIS)
        renew_agents(upgraded, forward=True, old=stage)
        works(upgraded, "all-new")
        calls.more(50)
    assert calls.lost == 0, calls.explain()
    placed = upgraded.studio.events("endpoint/rolled").count("replica.placed")
    assert placed == NODES
    case.saw("the replicas of the beginning serve still")
