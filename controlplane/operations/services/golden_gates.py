"""Golden cases before the first request: which operations ask them, and what came of it."""

from collections.abc import Mapping
from typing import Any

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment
from controlplane.deployments.rules import rules_naming
from controlplane.deployments.types import Failure
from controlplane.operations.golden_cases import has_cases
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import GateFacts
from controlplane.operations.types import GoldenGate, OperationKind, StageName
from controlplane.rollouts import golden_from_json


def gate_of(
    kind: OperationKind, deployment: Deployment | None, parameters: Mapping[str, Any]
) -> GoldenGate:
    """What an operation does about golden cases; NONE as well where there is nothing to ask.

    They are asked where something answers clients that did not before: what has, or is about to
    get, a share or a rule. What has none can be looked at as it is; a rollout asks by itself.
    """
    wish = GoldenGate(parameters.get("golden", GoldenGate.NONE))
    if (
        kind != OperationKind.DEPLOY
        or deployment is None
        or wish == GoldenGate.NONE
        or "rollout" in parameters
    ):
        return GoldenGate.NONE
    endpoint, name = deployment.endpoint, deployment.name
    serves = bool(endpoint.traffic.get(name) or rules_naming(endpoint.traffic_rules, name))
    given = parameters.get("traffic", 0) > 0
    runs_already = "previous_count" in parameters and "previous_revision" not in parameters
    answers_anew = given and not serves if runs_already else given or serves
    if not answers_anew or not has_cases(deployment):
        return GoldenGate.NONE
    return wish


def gate_skipped(operation: Operation, actor: str) -> None:
    events.record(
        actor=actor,
        verb="operation.golden_skipped",
        subject=f"endpoint/{operation.endpoint}",
        message=f"{actor} lets {operation.deployment} answer without asking it golden cases",
        severity=Event.Severity.WARNING,
        data={"operation": operation.id, "deployment": operation.deployment},
    )


def asks_first(operation: Operation) -> bool:
    """Whether what it starts is held out until golden cases are answered."""
    return any(stage["name"] == StageName.GOLDEN for stage in operation.stages)


def gate_facts(operation: Operation) -> GateFacts:
    parameters = operation.parameters
    answer = parameters.get("candidate_answer")
    tried = parameters.get("candidate_tried") or {}
    facts = GateFacts(
        generation=parameters.get("candidate_generation"),
        unanswered=tuple(tried.get("unanswered", ())),
        waits=bool(tried) and tried["asked"] == parameters.get("candidate_asked"),
    )
    if answer is None or not asks_first(operation):
        return facts
    golden = golden_from_json(answer["golden"])
    if not golden.cases:
        return facts  # they were deleted meanwhile
    if not golden.wrong:
        return GateFacts(told=f"{golden.answered} of {golden.cases} are answered as expected")
    return GateFacts(
        failure=Failure(
            "GoldenCasesFailed",
            f"Revision {golden.revision} of {operation.deployment} answers {len(golden.wrong)} of "
            f"{golden.cases} golden cases otherwise than expected; it got no requests.",
            detail="\n".join(answer["cases"]),
            hints=(
                "Where its answers are wrong, mend the model: what answered before does so still.",
                "Where they are right, go on with `--skip-golden` (`?skip_golden=true`), and let "
                "them be expected: "
                f"`shoal test accept {operation.endpoint} -d {operation.deployment}`.",
            ),
        )
    )


def gate_forget(parameters: dict[str, Any]) -> None:
    """Other replicas are asked anew; what is on its way of those before counts no more."""
    for name in ("generation", "asked", "began", "first", "answer", "tried"):
        parameters.pop(f"candidate_{name}", None)
