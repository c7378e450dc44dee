"""The door at which node agents report what runs."""

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from controlplane.nodes import slowness
from controlplane.nodes.auth import NodeDoor, caller, message_and_complaints, reply
from controlplane.operations import services
from wire.messages import NodeReport


class ReportDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        report, complaints = message_and_complaints(NodeReport, request)
        with slowness.reports.running():
            told = services.node_report(
                node=caller(request), report=report, now=timezone.now(), complaints=complaints
            )
        return reply(told)
