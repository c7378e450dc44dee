"""Values of metrics: intervals, retention, and the names of streams."""

from typing import Final

SAMPLE_INTERVAL_S: Final = 2.0
WATCHED_INTERVAL_S: Final = 0.5  # while somebody looks at the endpoint
WATCH_LIFETIME_S: Final = 30.0
KEEP_SAMPLES_S: Final = 6 * 3600.0
KEEP_LOG_LINES: Final = 20_000  # per deployment
MAX_LOG_LINE: Final = 16_384  # characters
