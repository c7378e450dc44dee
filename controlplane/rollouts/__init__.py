"""Pure: whether a candidate gets more of an endpoint's traffic, from what gateways counted of it
and of the stable version in the same windows.

Nothing here reads a row or a clock; ``operations.services.rollout_looks`` does, and carries it out.
"""

from controlplane.rollouts.agreement import (
    ANSWERS,
    ASKED_AGAIN,
    Compared,
    compared_from_json,
    compared_to_json,
    compared_with,
    unanswered,
)
from controlplane.rollouts.counts import FAILED, REFUSED, Arm, Window, windows
from controlplane.rollouts.evidence import Tally, confidence
from controlplane.rollouts.golden import (
    GOLDEN,
    Golden,
    golden_due,
    golden_from_json,
    golden_text,
)
from controlplane.rollouts.judgement import (
    SILENT_S,
    Action,
    Cause,
    Facts,
    Figure,
    Judgement,
    Side,
    judge,
)
from controlplane.rollouts.measures import MEASURES
from controlplane.rollouts.plan import (
    MIN_REQUESTS,
    WAYS,
    Compare,
    Guardrail,
    Plan,
    Step,
    plan_asked,
    plan_from_json,
    plan_to_json,
)
from controlplane.rollouts.state import (
    Known,
    State,
    learned,
    started,
    state_from_json,
    state_to_json,
)

__all__ = [
    "ANSWERS",
    "ASKED_AGAIN",
    "FAILED",
    "GOLDEN",
    "MEASURES",
    "MIN_REQUESTS",
    "REFUSED",
    "SILENT_S",
    "WAYS",
    "Action",
    "Arm",
    "Cause",
    "Compare",
    "Compared",
    "Facts",
    "Figure",
    "Golden",
    "Guardrail",
    "Judgement",
    "Known",
    "Plan",
    "Side",
    "State",
    "Step",
    "Tally",
    "Window",
    "compared_from_json",
    "compared_to_json",
    "compared_with",
    "confidence",
    "golden_due",
    "golden_from_json",
    "golden_text",
    "judge",
    "learned",
    "plan_asked",
    "plan_from_json",
    "plan_to_json",
    "started",
    "state_from_json",
    "state_to_json",
    "unanswered",
    "windows",
]
