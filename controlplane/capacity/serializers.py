"""JSON of capacity and of prices."""

import math
from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.core.pagination import page_of

LIMITS: Final = ("sweep", "instances", "processors", "gpus", "concurrency", "")
MOST_LOST: Final = 100  # nodes in one question
MOST_PRICES: Final = 1000
DEAREST: Final = 1_000_000

Fields = serializers.Serializer[Any]


class AmountSerializer(Fields):
    total = serializers.FloatField()
    promised = serializers.FloatField(
        help_text="given to replicas, or named by their instance types"
    )
    used = serializers.FloatField(help_text="by the last report")
    idle = serializers.FloatField(help_text="neither promised nor used")


@extend_schema_serializer(component_name="CapacityUse")
class UseSerializer(Fields):
    replicas = serializers.IntegerField()
    processors = AmountSerializer()
    memory = AmountSerializer(help_text="bytes")
    gpus = AmountSerializer(help_text="cards; used: the sum of their utilization")
    gpu_memory = AmountSerializer(help_text="bytes; promised: what the models are thought to take")


@extend_schema_serializer(component_name="CapacityNode")
class NodeSerializer(UseSerializer):
    name = serializers.CharField(source="node.name")
    online = serializers.BooleanField(source="node.online")
    cordoned = serializers.BooleanField(source="node.cordoned")
    idle = serializers.FloatField(
        help_text="0..1, of its GPUs; of its processors and memory where it has none"
    )
    per_hour = serializers.FloatField(allow_null=True, help_text="null: it has no price")


NodeItemsSerializer = page_of(NodeSerializer)


@extend_schema_serializer(component_name="CapacityNodePage")
class NodePageSerializer(NodeItemsSerializer):  # type: ignore[misc, valid-type]
    total = serializers.IntegerField(help_text="nodes that match, on all pages")


class CostSerializer(Fields):
    per_hour = serializers.FloatField(allow_null=True, help_text="null: nothing of it has a price")
    per_day = serializers.FloatField(allow_null=True)
    unpriced = serializers.IntegerField(help_text="replicas that have no price")


class DeploymentCostSerializer(CostSerializer):
    per_1000_requests = serializers.FloatField(
        allow_null=True,
        help_text="of the last day, at what it costs now; null: no price, or no request",
    )


@extend_schema_serializer(component_name="CapacityProject")
class ProjectCostSerializer(CostSerializer):
    project = serializers.CharField()
    deployments = serializers.IntegerField()
    replicas = serializers.IntegerField()
    gpus = serializers.IntegerField(help_text="given to its replicas, each as often as given")


class CapacitySerializer(Fields):
    nodes = serializers.IntegerField()
    nodes_online = serializers.IntegerField()
    totals = UseSerializer(help_text="of all nodes that are online, whatever project uses them")
    currency = serializers.CharField(allow_blank=True)
    priced = serializers.BooleanField(help_text="whether any price is set")
    projects = ProjectCostSerializer(many=True, help_text="those that the caller may see")


class HeadroomSerializer(Fields):
    times = serializers.FloatField(
        allow_null=True, help_text="its busiest hour of the last day; null: not known, see because"
    )
    limit = serializers.ChoiceField(
        choices=LIMITS, allow_blank=True, help_text="what would be reached first"
    )
    because = serializers.CharField(help_text="what it is told from, with the figures")


class MeasuredSerializer(Fields):
    seconds = serializers.FloatField(help_text="of the last day, in which it was measured")
    requests = serializers.IntegerField(help_text="that gateways counted in them")
    request_rate = serializers.FloatField(
        allow_null=True,
        help_text="that gateways counted a second in the busiest hour: without load sweeps and "
        "mirrored requests",
    )
    busy = serializers.FloatField(allow_null=True, help_text="0..1, instances at work; in theirs")
    cpu = serializers.FloatField(allow_null=True, help_text="processors; likewise")
    concurrency = serializers.FloatField(allow_null=True, help_text="requests at a time; likewise")
    memory_bytes = serializers.FloatField(allow_null=True, help_text="likewise")


@extend_schema_serializer(component_name="CapacityDeployment")
class DeploymentSerializer(Fields):
    endpoint = serializers.CharField()
    deployment = serializers.CharField(source="name")
    project = serializers.CharField()
    traffic = serializers.IntegerField(help_text="percent of the endpoint's")
    replicas = serializers.IntegerField()
    gpus = serializers.IntegerField()
    measured = MeasuredSerializer(allow_null=True)
    headroom = HeadroomSerializer()
    cost = DeploymentCostSerializer()


DeploymentPageSerializer = page_of(DeploymentSerializer)
# why: the name without its schema's would be another page's
DeploymentPageSerializer = extend_schema_serializer(component_name="CapacityDeploymentPage")(
    DeploymentPageSerializer
)


class WasteItemSerializer(Fields):
    code = serializers.CharField()
    kind = serializers.ChoiceField(choices=["node", "deployment"])
    subject = serializers.CharField(help_text="name of the node, or endpoint/deployment")
    title = serializers.CharField()
    text = serializers.CharField(help_text="what was seen, with its figures")
    change = serializers.CharField(help_text="what to do about it")


class WasteSerializer(Fields):
    items = WasteItemSerializer(many=True)
    looked_at = serializers.IntegerField(
        help_text="nodes, those with the fewest replicas, of which was asked whether they could be "
        "emptied"
    )


class ReasonSerializer(Fields):
    reason = serializers.CharField()
    nodes = serializers.IntegerField(help_text="that say so")


class WhatIfQuery(Fields):
    lost = serializers.ListField(
        child=serializers.CharField(max_length=100),
        min_length=1,
        max_length=MOST_LOST,
        help_text="names of nodes; all of them are lost at once",
    )


class MovedSerializer(Fields):
    replica = serializers.CharField()
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    ordinal = serializers.IntegerField()
    node = serializers.CharField(help_text="name of the node that is lost")
    to = serializers.CharField(allow_null=True, help_text="name of a node; null: it fits nowhere")


class DeploymentLossSerializer(Fields):
    endpoint = serializers.CharField()
    deployment = serializers.CharField()
    traffic = serializers.IntegerField(help_text="percent of the endpoint's")
    replicas = serializers.IntegerField()
    lost = serializers.IntegerField()
    placed = serializers.IntegerField(help_text="of the lost, those that find a place")
    ready_left = serializers.IntegerField(help_text="replicas that go on answering")
    reasons = ReasonSerializer(many=True, help_text="why others find none, the commonest first")


class EndpointLossSerializer(Fields):
    endpoint = serializers.CharField()
    traffic_lost = serializers.IntegerField(
        help_text="percent, which nothing answers until replicas have started elsewhere"
    )
    comes_back = serializers.BooleanField(help_text="whether there is a place for them")


class WhatIfSerializer(Fields):
    lost = serializers.ListField(child=serializers.CharField())
    replicas = MovedSerializer(many=True)
    deployments = DeploymentLossSerializer(many=True)
    endpoints = EndpointLossSerializer(
        many=True, help_text="those that nothing answers for a part of the traffic, or all"
    )


class RoomNodeSerializer(Fields):
    node = serializers.CharField()
    replicas = serializers.IntegerField()


class RoomSerializer(Fields):
    more = serializers.IntegerField(help_text="replicas that would find a place now")
    at_least = serializers.BooleanField(help_text="no more were tried")
    nodes = RoomNodeSerializer(many=True, help_text="where they would go")
    note = serializers.CharField(
        allow_blank=True, help_text="said of more replicas than there are processors"
    )
    reasons = ReasonSerializer(many=True, help_text="why nodes take no further one")


class LabelPriceSerializer(Fields):
    key = serializers.CharField(max_length=255, help_text="of the label")
    value = serializers.CharField(max_length=255, allow_blank=True)
    per_hour = serializers.FloatField()


class PricesSerializer(Fields):
    currency = serializers.CharField(allow_blank=True)
    instance_types = serializers.DictField(
        child=serializers.FloatField(), help_text="name -> what a replica of it costs per hour"
    )
    nodes = serializers.DictField(
        child=serializers.FloatField(), help_text="name -> what the node costs per hour"
    )
    labels = LabelPriceSerializer(
        many=True, help_text="of nodes that are not named: the first whose label they have"
    )


class PriceField(serializers.FloatField):
    """An amount per hour; what is no finite number is refused, which no range does."""

    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=DEAREST)

    def to_internal_value(self, data: Any) -> float:
        price = float(super().to_internal_value(data))
        if not math.isfinite(price):
            self.fail("invalid")
        return price


class LabelPriceInputSerializer(Fields):
    key = serializers.CharField(max_length=255, help_text="of the label")
    value = serializers.CharField(max_length=255, allow_blank=True)
    per_hour = PriceField()


class PricesInputSerializer(Fields):
    """All of them at once: what is left out has no price any more."""

    currency = serializers.CharField(
        max_length=16, required=False, default="", allow_blank=True, help_text="EUR, for instance"
    )
    instance_types = serializers.DictField(child=PriceField(), required=False, default=dict)
    nodes = serializers.DictField(child=PriceField(), required=False, default=dict)
    labels = serializers.ListField(
        child=LabelPriceInputSerializer(), required=False, default=list, max_length=MOST_PRICES
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for field in ("instance_types", "nodes"):
            if len(attrs[field]) > MOST_PRICES:
                raise serializers.ValidationError(
                    {field: f"{len(attrs[field])} prices, expected at most {MOST_PRICES}."}
                )
        return attrs
