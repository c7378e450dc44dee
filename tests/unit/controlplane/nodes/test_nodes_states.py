"""Whatever a node says, and however long it is silent: both its tables hold."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.core.models import Event
from controlplane.nodes import services
from controlplane.nodes.models import Node
from controlplane.nodes.services import join_token_create
from controlplane.nodes.states import DUTIES, NODES, NodeDuty, NodeState
from tests.support.watched_states import Watch, watched
from wire.messages import NodeInfo, RegisterRequest

pytestmark = pytest.mark.django_db
INFO = NodeInfo(name="a", agent_version="test", boot_id="1")
SILENCES = st.sampled_from([-60, 0, 11, 21, 3600])  # seconds; below 0 the clock was set back
EVENTS = st.one_of(
    st.sampled_from(["report", "join", "cordon", "uncordon", "drain", "emptied"]),
    st.tuples(st.just("silence"), SILENCES),
)


def join(now: datetime) -> Node:
    token = join_token_create(actor="ada")
    info = INFO
    if (row := Node.objects.filter(name="a").first()) is not None:
        info = NodeInfo(name="a", agent_version="test", boot_id=row.info["boot_id"])
    services.node_register(request=RegisterRequest(token=token, node=info), now=now)
    return Node.objects.get(name="a")


def report(now: datetime) -> None:
    services.node_seen(node=Node.objects.get(name="a"), info=INFO, observed_generation=0, now=now)


def happen(event: str | tuple[str, int], now: datetime) -> None:
    match event:
        case "report":
            report(now)
        case "join":
            join(now)
        case "cordon" | "uncordon":
            services.node_cordon(name="a", cordoned=event == "cordon", actor="otto")
        case "drain":
            services.node_drain(name="a", deadline_at=now, actor="otto", now=now)
        case "emptied":
            services.node_emptied(node=Node.objects.get(name="a"), now=now)
        case (_, seconds):
            services.nodes_expire(now=now + timedelta(seconds=int(seconds)))


def told(*verbs: str) -> list[str]:
    return list(Event.objects.filter(verb__in=verbs).order_by("seq").values_list("verb", flat=True))


@settings(max_examples=40)
@given(events=st.lists(EVENTS, max_size=15))
def test_a_node_follows_its_tables(events: list[str | tuple[str, int]]) -> None:
    states = Watch(Node, NODES)
    duties = Watch(Node, DUTIES, lambda row: str(row.duty))
    with watched(states, duties):
        now = timezone.now()
        join(now)
        for event in events:
            happen(event, now)
            row = Node.objects.get(name="a")
            assert row.cordoned or row.drain_started_at is None, "a drain that lets more in"
            if event in ("report", "join"):
                assert row.state == NodeState.ONLINE, "a report that was not heard"
            if event == "drain":
                assert row.duty == NodeDuty.DRAINING
        # each silence that was told ends with a report, or with joining anew
        gone = [(old, new) for old, new in states.seen.elements() if new == NodeState.OFFLINE]
        assert len(told("node.went_offline")) == len(gone)
        started, ended = told("node.drain_started"), told("node.drained")
        assert len(started) - len(ended) in range(len(events) + 1)
        services.node_remove(node=Node.objects.get(name="a"), actor="otto")


def test_a_clock_that_was_set_back_brings_no_node_back() -> None:
    """The row went online again without a report, and nobody was told that it returned."""
    now = timezone.now()
    join(now)
    assert services.nodes_expire(now=now + timedelta(minutes=5)) == 1
    assert services.nodes_expire(now=now) == 0
    assert Node.objects.get(name="a").state == NodeState.OFFLINE
    report(now)
    assert Node.objects.get(name="a").state == NodeState.ONLINE
    assert told("node.went_offline", "node.returned") == ["node.went_offline", "node.returned"]


def test_a_node_that_is_drained_again_is_so_from_now_on() -> None:
    """The second drain was not told of, and was said to have taken as long as since the first."""
    now = timezone.now()
    join(now)
    services.node_drain(name="a", deadline_at=now, actor="otto", now=now)
    services.node_emptied(node=Node.objects.get(name="a"), now=now)
    later = now + timedelta(hours=1)
    services.node_drain(name="a", deadline_at=later, actor="otto", now=later)
    services.node_emptied(node=Node.objects.get(name="a"), now=later + timedelta(seconds=2))
    assert told("node.drain_started", "node.drained") == ["node.drain_started", "node.drained"] * 2
    last = Event.objects.filter(verb="node.drained").order_by("seq").last()
    assert last is not None
    assert last.data["seconds"] == 2


def test_one_who_was_uncordoned_meanwhile_is_not_called_empty() -> None:
    now = timezone.now()
    join(now)
    services.node_drain(name="a", deadline_at=now, actor="otto", now=now)
    seen = Node.objects.get(name="a")
    services.node_cordon(name="a", cordoned=False, actor="otto")
    services.node_emptied(node=seen, now=now)
    assert Node.objects.get(name="a").duty == NodeDuty.OPEN
    assert told("node.drained") == []


def test_a_state_that_is_written_by_hand_is_noticed() -> None:
    """The oracle itself: it sees each write, whoever makes it."""
    with watched(Watch(Node, NODES)):
        join(timezone.now())
        services.nodes_expire(now=timezone.now() + timedelta(hours=1))
        with pytest.raises(AssertionError, match="offline became suspect"):
            Node.objects.update(state=NodeState.SUSPECT)
