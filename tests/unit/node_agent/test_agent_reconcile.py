"""Tables: what is desired and known, and what must follow."""

import pytest

from node_agent.reconcile import Keep, Known, Replace, Start, Stop, actions
from wire.messages import DesiredReplica


def replica(name: str, generation: int = 1) -> DesiredReplica:
    return DesiredReplica(
        replica_id=name, generation=generation, endpoint="e", deployment="blue", files=()
    )


@pytest.mark.parametrize(
    ("desired", "known", "expected"),
    [
        pytest.param([], {}, [], id="nothing is nothing"),
        pytest.param([replica("a")], {}, [Start(replica("a"))], id="unknown is started"),
        pytest.param([replica("a")], {"a": Known(1)}, [Keep(replica("a"))], id="same is kept"),
        pytest.param(
            [replica("a", 2)], {"a": Known(1)}, [Replace(replica("a", 2))], id="newer replaces"
        ),
        pytest.param(
            [replica("a", 1)],
            {"a": Known(2)},
            [Keep(replica("a", 1))],
            id="an old answer is harmless",
        ),
        pytest.param([], {"a": Known(1)}, [Stop("a")], id="undesired is stopped"),
        pytest.param([], {"a": Known(1, stopping=True)}, [], id="stopped once, not twice"),
        pytest.param(
            [replica("a", 2)],
            {"a": Known(1, stopping=True)},
            [],
            id="what is stopping is started by a later pass",
        ),
        pytest.param(
            [replica("a"), replica("b")],
            {"c": Known(1), "b": Known(1)},
            [Stop("c"), Start(replica("a")), Keep(replica("b"))],
            id="stops come first",
        ),
    ],
)
def test_actions(desired: list[DesiredReplica], known: dict[str, Known], expected: list) -> None:
    assert actions(desired, known) == expected
