"""The API at which node agents report what runs."""

from django.http import HttpResponse
from django.utils import timezone

from controlplane.nodes import slowness
from controlplane.nodes.auth import NodeRequest, NodeView, message_and_violations, reply
from controlplane.operations import services
from wire.messages import NodeReport


class ReportView(NodeView):
    def post(self, request: NodeRequest) -> HttpResponse:
        report, violations = message_and_violations(NodeReport, request)
        with slowness.reports.running():
            told = services.node_report(
                node=request.node, report=report, now=timezone.now(), violations=violations
            )
        return reply(told)
