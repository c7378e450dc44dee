"""The doors for node agents: what to run, what runs, and the bytes for it."""

from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from controlplane.core.errors import NotFound
from controlplane.core.sending import file_response
from controlplane.deployments import services
from controlplane.deployments.selectors.desired import desired_state, node_may_read
from controlplane.nodes.auth import NodeDoor, caller, message, reply
from controlplane.registry.storage import blob_path
from wire.messages import NodeReport


class DesiredDoor(NodeDoor):
    def get(self, request: Request) -> HttpResponse:
        return reply(desired_state(caller(request)))


class ReportDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        report = message(NodeReport, request)
        return reply(services.node_report(node=caller(request), report=report, now=timezone.now()))


class BlobDoor(NodeDoor):
    def get(self, request: Request, sha256: str) -> HttpResponseBase:
        path = blob_path(sha256)
        # why one answer for both: a node learns nothing about blobs that are none of its business
        if not node_may_read(caller(request), sha256) or not path.is_file():
            raise NotFound("This node needs no such blob.", code="BlobNotFound")
        return file_response(path, request.headers.get("Range", ""))
