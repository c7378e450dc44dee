"""What is read of the messages of RPCs that are a question and an answer."""

from typing import Any

import pytest
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.grpc.admin import Memory, Queries, Repository, Switches
from worker_runtime.protocols.grpc.simple import MOST_BYTES, MOST_FIELDS

ENGINE: Any = None
QUERIES = {
    name: query
    for part in (Queries(ENGINE), Repository(ENGINE), Memory(ENGINE), Switches(ENGINE))
    for name, query in part.by_name().items()
}


@pytest.mark.parametrize("name", sorted(set(QUERIES) - {"RepositoryModelLoad"}))
def test_what_says_a_few_words_is_short(name: str) -> None:
    """200,000 settings stopped the loop for half a second."""
    query = QUERIES[name]
    unknown = b"\x78\x01"  # of a field that there is not
    assert query.read(unknown * (MOST_BYTES // 2)) is not None
    with pytest.raises(InvalidArgument) as error:
        query.read(unknown * (MOST_BYTES // 2 + 1))
    assert str(error.value) == (
        f"the {name}Request has {MOST_BYTES + 2} bytes, expected at most {MOST_BYTES}"
    )


def test_a_load_may_be_large_but_not_of_many_parts() -> None:
    load = QUERIES["RepositoryModelLoad"]
    message = pb.RepositoryModelLoadRequest(model_name="m")
    message.parameters["file:1/model"].bytes_param = bytes(1_000_000)
    assert load.read(message.SerializeToString()) == message
    for number in range(MOST_FIELDS):
        message.parameters[str(number)].bool_param = True
    with pytest.raises(InvalidArgument, match=f"more than {MOST_FIELDS} fields, expected at most"):
        load.read(message.SerializeToString())
