"""The doors for what nodes measure and log."""

from django.http import HttpResponse, JsonResponse
from rest_framework.request import Request

from controlplane.metrics import selectors, services
from controlplane.nodes.auth import NodeDoor, caller, message, reply
from controlplane.nodes.selectors import cadence_now, clock_skew_s
from wire.messages import LogBatch, ReportReply, SampleBatch


class SamplesDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        node = caller(request)
        batch = message(SampleBatch, request)
        services.samples_ingest(
            node_id=node.id, node=node.name, batch=batch, ahead_s=clock_skew_s(node)
        )
        endpoints = {sample.endpoint for sample in batch.samples}
        pace = cadence_now()
        return reply(
            ReportReply(
                desired_generation=node.desired_generation,
                sample_interval_s=pace.sampling_s(selectors.sample_interval_s(endpoints)),
                poll_interval_s=pace.poll_s,
                heartbeat_interval_s=pace.report_s,
            )
        )


class LogsDoor(NodeDoor):
    def post(self, request: Request) -> HttpResponse:
        batch = message(LogBatch, request)
        services.logs_ingest(batch, ahead_s=clock_skew_s(caller(request)))
        return JsonResponse({})
