"""The doors for node agents: what to run, what runs, and the bytes for it."""

from functools import partial

from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from controlplane.core.errors import NotFound
from controlplane.core.sending import bytes_response
from controlplane.deployments import services
from controlplane.deployments.selectors.desired import desired_state, node_may_read
from controlplane.nodes import slowness
from controlplane.nodes.auth import NodeDoor, caller, message, reply
from controlplane.registry.stores import blob_store
from wire.messages import NodeReport


class DesiredDoor(NodeDoor):
    def get(self, request: Request) -> HttpResponse:
        return reply(desired_state(caller(request)))


class ReportDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        report = message(NodeReport, request)
        with slowness.reports.running():
            told = services.node_report(node=caller(request), report=report, now=timezone.now())
        return reply(told)


class BlobDoor(NodeDoor):
    def get(self, request: Request, sha256: str) -> HttpResponseBase:
        store = blob_store()
        size = store.size(sha256) if node_may_read(caller(request), sha256) else None
        # why one answer for both: a node learns nothing about blobs that are none of its business
        if size is None:
            raise NotFound(
                "This node needs no such blob.",
                code="BlobNotFound",
                hints=("Fetch the desired state again: it names what is needed.",),
            )
        if address := store.address(sha256):
            return HttpResponse(status=307, headers={"Location": address})
        return bytes_response(size, partial(store.open, sha256), request.headers.get("Range", ""))
