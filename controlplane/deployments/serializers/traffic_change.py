"""Shape of the last change of an endpoint's traffic on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.deployments.serializers.routing import TrafficRuleSerializer
from controlplane.deployments.traffic_watch import WatchState

Fields = serializers.Serializer[Any]


class SharesSerializer(Fields):
    """Who answers, and who gets copies."""

    traffic = serializers.DictField(child=serializers.IntegerField())
    mirror_traffic = serializers.DictField(child=serializers.IntegerField())
    traffic_rules = TrafficRuleSerializer(many=True)


class WayBackSerializer(Fields):
    """What of the shares a change has replaced, as they were; the others are not there."""

    traffic = serializers.DictField(child=serializers.IntegerField(), required=False)
    mirror_traffic = serializers.DictField(child=serializers.IntegerField(), required=False)
    traffic_rules = TrafficRuleSerializer(many=True, required=False)


class TrafficChangeSerializer(Fields):
    """The last change of who answers, while it is watched, and for an hour."""

    state = serializers.ChoiceField(
        choices=[(str(one), str(one)) for one in WatchState],
        help_text="routing: gateways have not confirmed it; watched: the time is over; undone: "
        "somebody has put back what was before",
    )
    before = SharesSerializer()
    after = SharesSerializer()
    actor = serializers.CharField(help_text="who changed it")
    changed_at = serializers.DateTimeField()
    routed_at = serializers.DateTimeField(
        allow_null=True, help_text="when every gateway that is heard of had confirmed it"
    )
    watched_until = serializers.DateTimeField(
        allow_null=True, help_text="null: it is not routed yet"
    )
    undone_by = serializers.CharField(allow_blank=True)
    undone_at = serializers.DateTimeField(allow_null=True)
    undo = WayBackSerializer(
        allow_null=True,
        help_text="takes it back: what to `PATCH` the endpoint with, under `If-Match`; null: "
        "it is taken back, or who answered before is gone",
    )
