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
from controlplane.rollouts.counts import Arm, Window, windows
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
    WAYS,
    Compare,
    Guardrail,
    Plan,
    Step,
    plan_asked,
    plan_from_json,
    plan_to_json,
)
from controlplane.rollouts.state import State, started, state_from_json, state_to_json

__all__ = [
    "ANSWERS",
    "ASKED_AGAIN",
    "GOLDEN",
    "MEASURES",
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
    "Plan",
    "Side",
    "State",
    "Step",
    "Window",
    "compared_from_json",
    "compared_to_json",
    "compared_with",
    "golden_due",
    "golden_from_json",
    "golden_text",
    "judge",
    "plan_asked",
    "plan_from_json",
    "plan_to_json",
    "started",
    "state_from_json",
    "state_to_json",
    "unanswered",
    "windows",
]
