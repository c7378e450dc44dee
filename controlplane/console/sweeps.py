"""REST of what begins a load sweep: with a saved case, or random data."""

import base64
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.console.cases import case_get
from controlplane.console.models import SavedCase
from controlplane.console.models_served import served
from controlplane.console.reading import read_inputs
from controlplane.core.errors import Invalid
from controlplane.core.requests import read_body
from controlplane.deployments.api import sweeps
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.serializers.sweeps import SweepInputSerializer, SweepSerializer
from controlplane.deployments.services.sweeps import Plan, plan_made, sweep_start


class SweepsView(sweeps.SweepsView):
    @extend_schema(
        operation_id="sweeps_start",
        request=SweepInputSerializer,
        responses={
            202: SweepSerializer,
            409: OpenApiResponse(
                description="`DeploymentServes`, `NoReadyReplica`, `SweepInProgress`"
            ),
        },
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Ask a ready replica more and more, from its own node, and measure how it does.

        Requests go to the replica itself and not through the gateway. One at a time on a node.
        """
        asked = read_body(SweepInputSerializer, request)
        while_serving = asked.pop("while_serving")
        plan, case = plan_asked(asked, endpoint, deployment)
        row = sweep_start(
            endpoint=endpoint,
            deployment=deployment,
            plan=plan,
            case=case,
            while_serving=while_serving,
            actor=actor(request),
            now=timezone.now(),
        )
        return sweeps.begun(row)


def plan_asked(asked: dict[str, Any], endpoint: str, deployment: str) -> tuple[Plan, str]:
    """And the name of the case. Takes what belongs to it out of ``asked``.

    Raises CaseNotFound, EndpointNotFound, DeploymentNotFound, Invalid.
    """
    case = _case(asked.pop("case"), endpoint)
    plan = plan_made(
        model=_model(asked.pop("model"), case, endpoint, deployment),
        version=asked.pop("model_version"),
        slo_us=1000 * (asked.pop("slo_ms") or 0.0),
        slo_percentile=asked.pop("slo_percentile") or 0,
        levels=tuple(asked.pop("levels")),
        shapes={name: tuple(shape) for name, shape in asked.pop("shapes").items()},
        inputs=_inputs(case) if case else (),
        **asked,
    )
    return plan, case.name if case else ""


def _case(case_id: str, endpoint: str) -> SavedCase | None:
    """Raises CaseNotFound, EndpointNotFound, Invalid."""
    if not case_id:
        return None
    case, project = case_get(case_id), endpoint_get(endpoint).project_id
    if case.project_id != project:
        raise Invalid(
            f"case: {case.name!r} is of another project than {endpoint}, expected of {project}.",
            field="case",
        )
    if case.options.get("parameters"):
        raise Invalid(
            f"case: {case.name!r} has parameters, expected inputs alone.",
            field="case",
            hints=("A sweep sends the same request again and again; sequences keep state.",),
        )
    return case


def _model(name: str, case: SavedCase | None, endpoint: str, deployment: str) -> str:
    """Raises EndpointNotFound, DeploymentNotFound, Invalid."""
    known = [str(model["name"]) for model in served(endpoint, deployment).models]
    wanted = name or (case.model if case else "")
    if case is not None and wanted != case.model:
        raise Invalid(
            f"model: {name!r}, expected {case.model!r}, which the case is of.", field="model"
        )
    if wanted and wanted not in known:
        raise Invalid(
            f"{'model' if name else 'case'}: {wanted!r}, expected one of {', '.join(known)}, "
            f"which {deployment} serves.",
            field="model" if name else "case",
        )
    return wanted or known[0]


def _inputs(case: SavedCase) -> list[dict[str, Any]]:
    return [
        {
            "name": tensor.name,
            "datatype": tensor.datatype,
            "shape": tensor.shape,
            "data": base64.b64encode(tensor.raw).decode(),
        }
        for tensor in read_inputs(case.inputs)
    ]
