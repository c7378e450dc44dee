"""Values of metrics: intervals, retention, and the names of streams."""

from dataclasses import dataclass
from typing import Final

SAMPLE_INTERVAL_S: Final = 2.0
WATCHED_INTERVAL_S: Final = 0.5  # while somebody looks at the endpoint
WATCH_LIFETIME_S: Final = 30.0
KEEP_SAMPLES_S: Final = 6 * 3600.0
KEEP_ROLL_UPS_S: Final = 30 * 86_400.0
KEEP_MINUTES_S: Final = 7 * 86_400.0  # then ten of them become one row
MINUTE_S: Final = 60
TEN_MINUTES_S: Final = 600
HOUR_S: Final = 3600
KEEP_LOG_LINES: Final = 20_000  # per deployment
MAX_LOG_LINE: Final = 16_384  # characters


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose figures: ``kind`` is endpoint, deployment, model or node, ``name`` of that (of a
    deployment: its endpoint). With ``node`` only what ran there."""

    kind: str
    name: str
    deployment: str = ""
    node: str = ""

    @property
    def key(self) -> str:
        text = f"{self.kind}/{self.name}"
        if self.deployment:
            text += f"/{self.deployment}"
        return f"{text}@{self.node}" if self.node else text
