"""Shapes of the event log."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from controlplane.core import chain
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


class ExportFormat(Fields):
    file_format = serializers.ChoiceField(
        choices=["csv", "ndjson"], required=False, default="ndjson"
    )


class EventsExportQuery(ExportFormat, EventFilters):
    """Which events, and how they are written."""


@extend_schema_serializer(component_name="EventArchive")
class EventArchiveSerializer(Fields):
    id = serializers.IntegerField()
    first_seq = serializers.IntegerField(help_text="number of its first event")
    last_seq = serializers.IntegerField()
    first_link = serializers.IntegerField(help_text="place of its first event in the chain")
    last_link = serializers.IntegerField()
    first_at = serializers.DateTimeField(help_text="the earliest of its events")
    last_at = serializers.DateTimeField()
    events = serializers.IntegerField()
    before = serializers.CharField(help_text="the chain's hash before its first event")
    after = serializers.CharField(help_text="the chain's hash after its last event")
    content_sha256 = serializers.CharField(help_text="of the lines of its events")
    mac = serializers.CharField(help_text="keyed hash over all that stands above")
    sha256 = serializers.CharField(help_text="of its file, a blob")
    size = serializers.IntegerField(help_text="bytes of that")
    created_at = serializers.DateTimeField()
    removed_at = serializers.DateTimeField(
        allow_null=True, help_text="when its events left the database; null: not yet"
    )


class EventArchivesQuery(Fields):
    limit = serializers.IntegerField(min_value=1, max_value=500, default=50)
    cursor = serializers.CharField(required=False, default="", allow_blank=True)


class AuditBreakSerializer(Fields):
    kind = serializers.ChoiceField(
        choices=[chain.CHANGED, chain.REMOVED, chain.FORGED, chain.REWOUND, chain.OTHER_KEY],
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
    archives = serializers.IntegerField(help_text="that hold what left the database")
    archived = serializers.IntegerField(help_text="events of `sealed` that are in these")
    broken = AuditBreakSerializer(allow_null=True)
