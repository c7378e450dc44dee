"""The header ``Server-Timing`` as Envoy's formatters write it. Pure."""

AUTH = "auth;dur=%DYNAMIC_METADATA(shoal:auth_us)%e-3"
ROUTE = "route;dur=%COMMON_DURATION(DS_RX_BEG:US_TX_BEG:us)%e-3"
QUEUE = "queue;dur=%UPSTREAM_CONNECTION_POOL_READY_DURATION%"
UPSTREAM = "upstream;dur=%COMMON_DURATION(US_TX_BEG:US_RX_BEG:us)%e-3"


def timing(*, answered: bool) -> str:
    """``answered``: by a replica. Durations are milliseconds, parsed as floating-point numbers.

    why the exponent: Envoy tells microseconds as whole numbers, and cannot divide.
    """
    return ", ".join((AUTH, ROUTE, QUEUE, UPSTREAM) if answered else (AUTH,))
