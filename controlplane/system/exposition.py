"""The control plane in Prometheus' text: what there is, in which state, and how fresh."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.console import hub
from controlplane.deployments.models import Replica
from controlplane.deployments.selectors import endpoint_list, scrape_targets
from controlplane.deployments.types import Desired
from controlplane.metrics.gateway_totals import GatewayTotals
from controlplane.metrics.selectors import freshness
from controlplane.metrics.totals import REGISTRY
from controlplane.nodes.selectors import node_list, node_state
from controlplane.operations.models import Operation
from controlplane.operations.selectors import endpoints_shown
from controlplane.system.selectors import newest_event


class ControlPlane(Collector):
    """Reads the rows when scraped."""

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("shoal_build_info", "1", labels=["version"])
        info.add_metric([settings.SHOAL_VERSION], 1)
        yield info
        endpoints = endpoints_shown(endpoint_list())
        yield _by_state("shoal_endpoints", "Endpoints", [e["serving_state"] for e in endpoints])
        rows = [row for endpoint in endpoints for row in endpoint["deployments"]]
        yield _by_state("shoal_deployments", "Deployments", [r["serving_state"] for r in rows])
        now = timezone.now()
        yield _by_state("shoal_nodes", "Nodes", [node_state(n, now) for n in node_list()])
        replicas = Replica.objects.filter(desired=Desired.RUNNING).values_list("state")
        yield _counted("shoal_replicas", "Replicas that shall run", replicas)
        yield _counted("shoal_operations", "Operations", Operation.objects.values_list("state"))
        newest = newest_event(people=False)  # anybody may scrape
        number = newest.seq if newest else 0
        yield CounterMetricFamily("shoal_events", "Number of the newest event", value=number)
        yield from _live()
        for name, at in freshness().items():
            text = f"Seconds since the newest {name}"
            family = GaugeMetricFamily(f"shoal_{name}_age_seconds", text)
            if at is not None:
                family.add_metric([], max(0.0, time.time() - at))
            yield family


def _by_state(name: str, text: str, states: list[str]) -> Metric:
    family = GaugeMetricFamily(name, f"{text} by state", labels=["state"])
    for state, count in sorted(Counter(str(state) for state in states).items()):
        family.add_metric([state], count)
    return family


def _counted(name: str, text: str, states: Any) -> Metric:
    family = GaugeMetricFamily(name, f"{text} by state", labels=["state"])
    counted = states.annotate(count=Count("pk")).order_by("state")
    for state, count in counted:
        family.add_metric([state], count)
    return family


def _live() -> Iterator[Metric]:
    topics, followers = hub.load()
    yield GaugeMetricFamily("shoal_live_topics", "Topics that somebody follows", value=topics)
    yield GaugeMetricFamily("shoal_live_followers", "Sockets over all topics", value=followers)


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(ControlPlane())
    registry.register(GatewayTotals())
    PlatformCollector(registry=registry)
    ProcessCollector(registry=registry)
    return registry


class PlainText(BaseRenderer):
    media_type = "text/plain"
    format = "prometheus"

    def render(self, data: Any, *_: object, **__: object) -> Any:
        return data


class WhateverIsAsked(DefaultContentNegotiation):
    """Scrapers name formats of their own, and take plain text all the same."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> Any:
        del request, format_suffix
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class MetricsView(APIView):
    renderer_classes = [PlainText]
    content_negotiation_class = WhateverIsAsked

    @extend_schema(
        operation_id="metrics",
        responses={(200, "text/plain"): OpenApiResponse(OpenApiTypes.STR)},
    )
    def get(self, request: Request) -> HttpResponse:
        """The control plane itself in Prometheus' text format: states, freshness, what the gateways
        answered, and the requests of this process."""
        del request
        text = generate_latest(_registry()) + generate_latest(REGISTRY)
        return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


class ScrapeLabelsSerializer(serializers.Serializer[Any]):
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    replica = serializers.CharField()
    node = serializers.CharField()


class ScrapeTargetsSerializer(serializers.Serializer[Any]):
    """One entry of Prometheus' HTTP service discovery."""

    targets = serializers.ListField(child=serializers.CharField(), help_text="host:port, one")
    labels = ScrapeLabelsSerializer()


class MetricsTargetsView(APIView):
    @extend_schema(
        operation_id="metrics_targets", responses={200: ScrapeTargetsSerializer(many=True)}
    )
    def get(self, request: Request) -> Response:
        """The runtimes' own metrics (`nv_*`), as Prometheus' HTTP service discovery wants them:
        one target for every replica with a process."""
        del request
        found = [
            {
                "targets": [target.address],
                "labels": {
                    "endpoint": target.endpoint,
                    "deployment": target.deployment,
                    "replica": target.replica,
                    "node": target.node,
                },
            }
            for target in scrape_targets()
        ]
        return Response(ScrapeTargetsSerializer(found, many=True).data)
