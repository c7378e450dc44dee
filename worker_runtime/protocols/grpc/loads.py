"""A large load request: the files in it are left where they are, protobuf gets the rest.

Protobuf would copy them twice, which holds the interpreter for a millisecond per MB.
"""

from typing import Any

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.grpc.requests import parsed
from worker_runtime.protocols.grpc.transport import Message
from worker_runtime.protocols.grpc.wire import LENGTH_DELIMITED, fields
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.triton_messages import service_pb2 as pb

MOST_FIELDS = 4096
MOST_REST = 1024 * 1024  # bytes of what are no large files
FILE = "file:"
_LARGE = 16 * 1024  # bytes of a parameter that is looked into
_AT_ONCE = 256  # fields in one turn of the loop
_NAME = "RepositoryModelLoadRequest"
_PARAMETER = 3 << 3 | LENGTH_DELIMITED
_KEY, _VALUE = 1 << 3 | LENGTH_DELIMITED, 2 << 3 | LENGTH_DELIMITED  # of an entry of the map
_BYTES = 4 << 3 | LENGTH_DELIMITED  # of a ModelRepositoryParameter


def large_load(data: Message) -> Steps[tuple[Any, dict[str, memoryview]]]:
    """The request without its large files, and these: views of ``data``, by path.

    Raises InvalidArgument when it is no such request, or when there is too much of it.
    """
    view = memoryview(data)
    rest: list[memoryview] = []
    files: dict[str, memoryview] = {}
    size = 0
    for number, (tag, start, at, stop) in enumerate(fields(view, _NAME), 1):
        if number > MOST_FIELDS:
            raise InvalidArgument(
                f"the {_NAME} has more than {MOST_FIELDS} fields, expected at most {MOST_FIELDS}"
            )
        if not number % _AT_ONCE:
            yield None
        found = None
        if tag == _PARAMETER and stop - at >= _LARGE:
            found = _file(view[at:stop])
        if found is not None:
            path, contents = found
            if path in files:
                raise InvalidArgument(f"load parameter '{FILE}{path}' is given twice")
            files[path] = contents
            continue
        size += stop - start
        if size > MOST_REST:
            raise InvalidArgument(
                f"the {_NAME} takes {size} bytes or more without large files, expected at most "
                f"{MOST_REST}"
            )
        rest.append(view[start:stop])
    return parsed(pb.RepositoryModelLoadRequest, b"".join(rest)), files


def _file(entry: memoryview) -> tuple[str, memoryview] | None:
    """Path and contents of a parameter that is a file and nothing else; None of another."""
    parts = list(_few(entry))
    if [tag for tag, _ in parts] != [_KEY, _VALUE]:
        return None
    key, value = parts[0][1], list(_few(parts[1][1]))
    if len(key) > _LARGE or [tag for tag, _ in value] != [_BYTES]:
        return None
    try:
        name = bytes(key).decode()
    except UnicodeDecodeError:
        return None  # protobuf says what is wrong with it
    return (name.removeprefix(FILE), value[0][1]) if name.startswith(FILE) else None


def _few(view: memoryview) -> list[tuple[int, memoryview]]:
    """The first fields, enough to see that there are more than there should be."""
    found = []
    for tag, _, at, stop in fields(view, _NAME):
        found.append((tag, view[at:stop]))
        if len(found) > 2:
            break
    return found
