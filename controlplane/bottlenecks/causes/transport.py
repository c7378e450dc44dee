"""Pure: what passes before and after the model: clients, connections, gateway, waking."""

from collections.abc import Iterator
from typing import Final

from controlplane.bottlenecks.facts import Facts
from controlplane.bottlenecks.finding import OFTEN, SECOND, Finding, duration, size

LARGE_BYTES: Final = 256 << 10  # from which on bytes, not round trips, take the client's time
SLOW_LINE: Final = 20e6  # bytes per second: less is the line, or the client
LEAST_SLOW_US: Final = 1000.0  # of small requests a line's round trip is most of it
TEXT_BYTES: Final = 4 << 10  # of JSON: below that its text costs next to nothing
HANDSHAKE_US: Final = 2000.0  # about what TLS and two round trips take; it is in no figure
LATE_US: Final = 2000.0
IDLE_LINE_US: Final = 500.0  # gateway and network, where they have nothing to wait for


def cold(facts: Facts) -> Iterator[Finding]:
    if facts.held and facts.requests:
        held = min(1.0, facts.held / facts.requests)
        yield Finding(
            "cold_start",
            f"{facts.held:,} of {facts.requests:,} requests came while no replica ran, and waited "
            f"{facts.wake_s:.2g} s for one.",
            held * facts.wake_s * 1e6,
        )


def lines(facts: Facts) -> Iterator[Finding]:
    """What the clients' bytes take: for being many, or for coming slowly."""
    us, count = facts.receive_us + facts.send_us, facts.request_bytes + facts.response_bytes
    if us <= 0:
        return
    speed = count / us * 1e6
    told = (
        f"{size(facts.request_bytes)} in and {size(facts.response_bytes)} out took "
        f"{duration(us)}: {size(speed)} per second."
    )
    if speed >= SLOW_LINE:
        if count < LARGE_BYTES or facts.as_json >= OFTEN:
            return  # which is as quick as it gets, or large for being text
        yield Finding("large_payload", told, us)
        return
    if us < LEAST_SLOW_US:
        return
    most = "requests" if facts.receive_us >= facts.send_us else "answers"
    yield Finding("slow_client", f"{told} Most of it went by for {most}.", us)


def as_json(facts: Facts) -> Iterator[Finding]:
    count = facts.request_bytes + facts.response_bytes
    if facts.as_json < OFTEN or count < TEXT_BYTES:
        return
    text_us = facts.unnamed_us + facts.outside_us
    if count / (facts.receive_us + facts.send_us + 1) * 1e6 >= SLOW_LINE:
        text_us += facts.receive_us + facts.send_us  # of bytes that would be fewer
    yield Finding(
        "json",
        f"{100 * facts.as_json:.0f} % of the requests carry their numbers as text, "
        f"{size(count)} each; beside queue and model they take {duration(text_us)}.",
        facts.as_json * max(0.0, text_us - IDLE_LINE_US),
    )


def connections(facts: Facts) -> Iterator[Finding]:
    if facts.new_connections >= OFTEN:
        yield Finding(
            "new_connections",
            f"{100 * facts.new_connections:.0f} new connections for 100 requests. Each costs the "
            "client two round trips and a TLS handshake, which are in none of these figures.",
            facts.new_connections * HANDSHAKE_US,
        )


def late(facts: Facts) -> Iterator[Finding]:
    if facts.late_us >= LATE_US:
        us = min(2 * facts.late_us, facts.outside_us + facts.unnamed_us)
        yield Finding(
            "late_loop",
            f"What arrives waits {duration(facts.late_us)} on average until the runtime looks at "
            "it: garbage collection, a large JSON body, or processors that others have.",
            us,
        )


def gateway(facts: Facts) -> Iterator[Finding]:
    """What is left over, where no other cause claims it."""
    if facts.as_json >= OFTEN or facts.held:
        return
    yield Finding(
        "gateway",
        f"{duration(facts.outside_us)} of a request pass between gateway and runtime.",
        SECOND * facts.outside_us,
    )
