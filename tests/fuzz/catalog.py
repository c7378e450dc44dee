"""Every target: where it is, and its share of the time. All numbers of fuzzing stand here."""

import importlib
from collections.abc import Callable
from typing import Final

# Seconds in `make test`; more or less time in all is shared out the same way. Half a minute each
# for what an attacker sends to the control plane and its gateway, and for the gate; little for the
# rest: each goes on from what was found before (tests/fuzz/corpora). Two at once, in this order:
# the short ones run beside `make api-fuzz`, and none that lasts comes last.
SHARES: Final = {
    "http": 10, "http_bodies": 10, "chunks": 10, "json_text": 10,
    "grpc_messages": 10, "grpc_wire": 10, "http2_frames": 10,
    "verdict": 30, "archive": 30, "socket_frames": 30, "agent_messages": 30,
    "gateway_headers": 30, "config_text": 20, "config_json": 20,
}  # fmt: skip
AT_ONCE: Final = 2
ONE_INPUT_S: Final = 30
MEMORY_MIB: Final = 3000
ROUNDS: Final = 6
MAY_GROW: Final = {"objects": 500, "descriptors": 0, "threads": 0, "KiB of memory": 24 * 1024}

# Those that need more than the runtime stand alone, so that others need not wait for it.
ALONE: Final = ("verdict", "agent_messages", "gateway_headers")


def target(name: str) -> Callable[[bytes], None]:
    """Takes any bytes, and raises for what must never happen."""
    module = importlib.import_module(f"tests.fuzz.{name if name in ALONE else 'targets'}")
    found: Callable[[bytes], None] = getattr(module, name)
    return found
