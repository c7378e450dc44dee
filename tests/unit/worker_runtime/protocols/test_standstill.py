"""Since when an answer is not read, where the first look at a connection finds one under way."""

from worker_runtime.protocols.grpc.native.standstill import Standstill as GrpcStandstill
from worker_runtime.protocols.http.standstill import Standstill, State
from worker_runtime.types.listening import ConnectionLimits

# A machine is up for longer than a client may take to read, so the clock's 0 is long ago.
NOW = 1000.0


def test_http_counts_from_the_first_look() -> None:
    limits = ConnectionLimits(unread_s=300.0)
    seen = Standstill()
    state = State(13_000_000, 1, busy=True, head_since=None, body=None, arrived=0)
    assert seen.overdue(NOW, limits, state) == ""
    assert seen.overdue(NOW + 299, limits, state) == ""
    assert seen.overdue(NOW + 300, limits, state) == "answers are not read"


def test_grpc_counts_from_the_first_look() -> None:
    seen = GrpcStandstill()
    assert seen.unread_s(NOW, 5000, 0.0) == 0
    assert seen.unread_s(NOW + 299, 5000, 0.0) == 299
