"""Shapes of the event log."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from controlplane.core import audit
from controlplane.core.models import Event

Fields = serializers.Serializer[Any]
LARGEST_SEQ = 2**63 - 1


@extend_schema_serializer(component_name="Event")
class EventSerializer(Fields):
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    verb = serializers.CharField()
    subject = serializers.CharField()
    severity = serializers.ChoiceField(choices=Event.Severity.choices)
    message = serializers.CharField()
    data = serializers.DictField(  # type: ignore[assignment] # a declared field, not the property
        help_text="details by verb; `before` and `after` where something was changed"
    )
    link = serializers.IntegerField(allow_null=True, help_text="place in the chain, once sealed")
    digest = serializers.CharField(allow_blank=True, help_text="the keyed hash that holds it")


class EventFilters(Fields):
    subject = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="`endpoint/digits`"
    )
    kind = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="of subject: `endpoint`, `node`"
    )
    actor = serializers.CharField(required=False, default="", allow_blank=True)
    verb = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="or what it begins with"
    )
    severity = serializers.MultipleChoiceField(
        choices=Event.Severity.choices, required=False, default=set, allow_empty=True
    )
    q = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="in the message, verb or subject"
    )
    since = serializers.DateTimeField(required=False, default=None)
    until = serializers.DateTimeField(required=False, default=None, help_text="not included")
    looks = serializers.BooleanField(
        required=False,
        default=True,
        help_text="`false`: without those who only looked at keys, files, captured data or the log",
    )


@extend_schema_field(OpenApiTypes.STR)
class CursorField(serializers.IntegerField):
    """A number inside; to a client text that it gives back, as of all lists."""


class EventsQuery(EventFilters):
    after_seq = serializers.IntegerField(
        required=False, default=None, min_value=0, max_value=LARGEST_SEQ
    )
    limit = serializers.IntegerField(min_value=1, max_value=500, default=50)
    cursor = CursorField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=LARGEST_SEQ,
        help_text="`next_cursor` of the page before",
    )


class EventsExportQuery(EventFilters):
    file_format = serializers.ChoiceField(
        choices=["csv", "ndjson"], required=False, default="ndjson"
    )


class AuditBreakSerializer(Fields):
    kind = serializers.ChoiceField(
        choices=[audit.CHANGED, audit.REMOVED, audit.FORGED, audit.REWOUND, audit.OTHER_KEY],
        help_text="`forged`: not written by Shoal; `rewound`: an older log was put back; "
        "`other_key`: written under another secret key than the installation has now",
    )
    link = serializers.IntegerField()
    seq = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()


class AuditVerificationSerializer(Fields):
    ok = serializers.BooleanField()
    sealed = serializers.IntegerField()
    unsealed = serializers.IntegerField(help_text="events that came while it was checked")
    head = serializers.CharField(help_text="the last event's hash; keep it elsewhere to compare")
    anchors = serializers.IntegerField(help_text="that were compared, from outside the database")
    restores = serializers.IntegerField(help_text="of backups, that are on record there")
    broken = AuditBreakSerializer(allow_null=True)
