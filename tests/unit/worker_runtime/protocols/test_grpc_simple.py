"""What is read of the messages of RPCs that are a question and an answer."""

from typing import Any

import pytest
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.errors import InvalidArgument, Unsupported
from worker_runtime.protocols.grpc.admin import Memory, Queries, Repository, Switches
from worker_runtime.protocols.grpc.loads import MOST_FIELDS, large_load
from worker_runtime.protocols.grpc.simple import MOST_BYTES
from worker_runtime.protocols.grpc.wire import varint
from worker_runtime.protocols.slices import at_once
from worker_runtime.types.repository import LoadOverride

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
        query.answered(unknown * (MOST_BYTES // 2 + 1))
    assert str(error.value) == (
        f"the {name}Request has {MOST_BYTES + 2} bytes, expected at most {MOST_BYTES}"
    )


class Loads:
    """An engine that keeps what it is to load."""

    def __init__(self) -> None:
        self.loaded: list[tuple[str, LoadOverride | None]] = []

    async def load(self, name: str, override: LoadOverride | None) -> None:
        self.loaded.append((name, override))


def a_load(**files: int) -> Any:
    message = pb.RepositoryModelLoadRequest(model_name="m")
    message.parameters["config"].string_param = "{}"
    for name, size in files.items():
        message.parameters[f"file:1/{name}"].bytes_param = name.encode() * size
    return message


@pytest.mark.parametrize("files", [{}, {"a": 10}, {"a": 200_000}, {"a": 200_000, "b": 1}])
@pytest.mark.parametrize("kind", [bytes, memoryview])
async def test_a_load_brings_files_of_any_size(files: dict[str, int], kind: Any) -> None:
    loads: Any = Loads()
    data = kind(a_load(**files).SerializeToString())
    await Repository(loads).by_name()["RepositoryModelLoad"].answered(data)
    expected = {f"1/{name}": name.encode() * size for name, size in files.items()}
    assert loads.loaded == [("m", LoadOverride("{}", expected))]


def test_large_files_of_a_load_are_not_copied() -> None:
    """64 MB stopped the loop for 80 ms and more."""
    data = a_load(a=1_000_000).SerializeToString()
    message, files = at_once(large_load(data))
    assert files["1/a"].obj is data
    assert message.ByteSize() < 100


def parameter(name: str, value: bytes) -> bytes:
    """An entry of the map, of whatever kind."""
    return part(3, part(1, name.encode()) + value)


def part(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


BIG = b"x" * 200_000


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (parameter("file:a", part(2, part(4, BIG))) * 2, "load parameter 'file:a' is given twice"),
        (
            parameter("file:a", part(2, part(4, BIG))) + parameter("file:a", part(2, part(4, b""))),
            "load parameter 'file:a' is given twice",
        ),
        (
            parameter("config", part(2, part(4, BIG))),
            "invalid value type for load parameter 'config', expected string_param.",
        ),
        (
            parameter("file:a", part(2, part(3, BIG))),
            "invalid value type for load parameter 'file:a', expected bytes_param.",
        ),
        (parameter("else", part(2, part(4, BIG))), "unrecognized load parameter 'else'."),
        (
            parameter("config", part(2, part(3, BIG * 6))),
            "the RepositoryModelLoadRequest takes 1200020 bytes or more without large files, "
            "expected at most 1048576",
        ),
        (
            part(2, b"m") * (MOST_FIELDS + 1) + parameter("file:a", part(2, part(4, BIG))),
            f"the RepositoryModelLoadRequest has more than {MOST_FIELDS} fields, expected at most "
            f"{MOST_FIELDS}",
        ),
        (
            parameter("file:a", part(2, part(4, BIG)))[:-1],
            "failed to parse the RepositoryModelLoadRequest: a field is cut off or broken",
        ),
        (part(1, b"r") + parameter("file:a", part(2, part(4, BIG))), "'repository_name' specif"),
    ],
)
async def test_a_large_load_that_is_none(data: bytes, said: str) -> None:
    loads: Any = Loads()
    with pytest.raises((InvalidArgument, Unsupported)) as error:
        await Repository(loads).by_name()["RepositoryModelLoad"].answered(data)
    assert str(error.value).startswith(said)
    assert not loads.loaded
