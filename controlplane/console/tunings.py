"""REST of what begins a tuning: with a saved case, or random data."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor
from controlplane.console.sweeps import plan_asked
from controlplane.core.requests import read_body
from controlplane.deployments.api import tunings
from controlplane.deployments.serializers.tunings import TuningInputSerializer, TuningSerializer
from controlplane.deployments.services.tunings import tuning_start

OWN = ("instances", "batch_sizes", "delays_us", "runs", "node", "while_serving")


class TuningsView(tunings.TuningsView):
    @extend_schema(
        operation_id="tunings_start",
        request=TuningInputSerializer,
        responses={
            202: TuningSerializer,
            403: OpenApiResponse(description="`CodeNotAllowed`"),
            409: OpenApiResponse(
                description="`DeploymentServes`, `OutOfCapacity`, `TuningInProgress`, "
                "`SweepInProgress`, `CodeNotApproved`, `SignatureRequired`"
            ),
        },
    )
    def post(self, request: Request, endpoint: str, deployment: str) -> Response:
        """Seek instances, batch size and delay for a model, on replicas of its own.

        Each run starts a replica that nobody calls, with one configuration, and measures it as a
        load sweep does. By concurrency the most answers a second within the objective are sought;
        by a rate, the least latency.
        """
        asked = read_body(TuningInputSerializer, request)
        own = {name: asked.pop(name) for name in OWN}
        plan, case = plan_asked(asked, endpoint, deployment)
        row = tuning_start(
            endpoint=endpoint,
            deployment=deployment,
            plan=plan,
            case=case,
            actor=actor(request),
            now=timezone.now(),
            **own,
        )
        return tunings.begun(row)
