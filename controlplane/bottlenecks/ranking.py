"""Pure: why requests take as long as they do. One table of all causes, and which come first.

Each cause claims the microseconds of a mean request that would go if it went. Claims overlap, since
a queue may have several reasons: where two explain the same time the likelier claims all of it, and
the other a part. They rank findings, and promise nothing.
"""

from collections.abc import Callable, Iterator
from typing import Final

from controlplane.bottlenecks.causes import compute, queues, transport
from controlplane.bottlenecks.facts import Facts
from controlplane.bottlenecks.finding import Finding, duration, share

LEAST_SHARE: Final = 0.1  # of the mean request; what explains less is no finding
LEAST_REQUESTS: Final = 10  # that say anything

Cause = Callable[[Facts], Iterator[Finding]]
# In the order of likelihood where two claim the same.
CAUSES: Final[tuple[Cause, ...]] = (
    transport.cold,
    transport.lines,
    transport.as_json,
    transport.connections,
    queues.delay,
    queues.batching,
    queues.sequences,
    compute.cpu,
    compute.gpu,
    queues.instances,
    compute.step,
    compute.model_itself,
    transport.late,
    transport.gateway,
)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """The likeliest first; none where there is too little traffic to tell."""
    if facts.timed < LEAST_REQUESTS:
        return ()
    found = [one for cause in CAUSES for one in cause(facts)]
    least = LEAST_SHARE * facts.total_us
    return tuple(sorted((one for one in found if one.us >= least), key=lambda one: -one.us))


def summary(facts: Facts, found: tuple[Finding, ...]) -> str:
    """One sentence on the whole."""
    if facts.timed < LEAST_REQUESTS:
        return (
            f"{facts.timed} requests were answered in the last {facts.seconds:g} s: at least "
            f"{LEAST_REQUESTS} are needed to say why."
        )
    took = f"A request takes {duration(facts.total_us)} on average"
    if not found:
        return f"{took}, and nothing stands out."
    first = found[0]
    if not first.inside:
        return f"{took}, and on top of that {first.because}."
    return f"{took}, {share(first.us, facts)} of it since {first.because}."
