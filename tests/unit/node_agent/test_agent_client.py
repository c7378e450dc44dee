"""What the control plane says, where it would become names of files on the node."""

import httpx
import pytest

from node_agent.client import ControlClient, ControlError
from wire.codec import encode
from wire.messages import DesiredReplica, DesiredState, FileRef

GOOD = "a" * 64


async def desired(replica_id: str, sha256: str) -> DesiredState:
    file = FileRef("m/1/model.onnx", 1, sha256)
    state = DesiredState("n", 1, (DesiredReplica(replica_id, 1, "e", "d", files=(file,)),))
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=encode(state)))
    client = ControlClient("http://control.test", transport=transport)
    try:
        return await client.desired()
    finally:
        await client.close()


async def test_plain_names_come_through() -> None:
    assert (await desired("4f1c2d3e4a5b46c7", GOOD)).replicas[0].replica_id == "4f1c2d3e4a5b46c7"


@pytest.mark.parametrize(
    ("replica_id", "sha256", "named"),
    [
        ("../../../root", GOOD, "replica_id"),
        ("/etc", GOOD, "replica_id"),
        ("a/b", GOOD, "replica_id"),
        ("..", GOOD, "replica_id"),
        ("", GOOD, "replica_id"),
        ("a\0", GOOD, "replica_id"),
        ("r1", "../../credential.json", "sha256"),
        ("r1", "A" * 64, "sha256"),
        ("r1", GOOD + "\n", "sha256"),
    ],
)
async def test_a_control_plane_that_was_broken_into_names_no_files_of_the_node(
    replica_id: str, sha256: str, named: str
) -> None:
    with pytest.raises(ControlError, match=named):
        await desired(replica_id, sha256)
