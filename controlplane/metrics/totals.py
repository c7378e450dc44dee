"""What this process counted of its own requests since it started, for Prometheus.

What several processes count together is kept in rows: ``gateway_totals``.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from controlplane.metrics.histogram import BOUNDS_S

# A second series for each, with the time of its first count, that nobody asks for.
disable_created_metrics()  # type: ignore[no-untyped-call]

REGISTRY: Final = CollectorRegistry()
REQUESTS: Final = Histogram(
    "shoal_http_request_seconds",
    "Time that the control plane took to answer, by route as it is written in the API",
    ("method", "route", "status"),
    registry=REGISTRY,
    buckets=BOUNDS_S,
)
REMOTE_USERS_REFUSED: Final = Counter(
    "shoal_remote_user_refused",
    "Requests whose remote-user headers were not a trusted proxy's, by reason",
    ("reason",),
    registry=REGISTRY,
)
