"""The API at which node agents report what runs, and say that their machine goes."""

from datetime import timedelta
from typing import Final

from django.http import HttpResponse
from django.utils import timezone

from controlplane.nodes import slowness
from controlplane.nodes.auth import (
    NodeRequest,
    NodeView,
    message,
    message_and_violations,
    reply,
)
from controlplane.operations import services
from wire.messages import LeaveReply, LeaveRequest, NodeReport

LONGEST_DRAIN_S: Final = 7 * 24 * 3600


class ReportView(NodeView):
    def post(self, request: NodeRequest) -> HttpResponse:
        report, violations = message_and_violations(NodeReport, request)
        with slowness.reports.running():
            told = services.node_report(
                node=request.node, report=report, now=timezone.now(), violations=violations
            )
        return reply(told)


class LeaveView(NodeView):
    def post(self, request: NodeRequest) -> HttpResponse:
        wanted = message(LeaveRequest, request)
        left = services.node_leave(
            node=request.node,
            deadline=timedelta(seconds=min(max(wanted.deadline_s, 0), LONGEST_DRAIN_S)),
            now=timezone.now(),
        )
        return reply(LeaveReply(left))
