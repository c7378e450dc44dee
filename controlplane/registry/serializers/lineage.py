"""Shape of a lineage on the wire: read whole, and sent back with what somebody states."""

from typing import Any

from rest_framework import serializers

from controlplane.registry.lineage import LONGEST, STATED, lineage_of
from controlplane.registry.sources.addresses import Kind

Fields = serializers.Serializer[Any]


class StatedField(serializers.CharField):
    """What a person may state; ``lineage.stated_read`` says what is wrong with it."""

    def __init__(self, name: str, help_text: str) -> None:
        super().__init__(
            required=False,
            default="",
            allow_blank=True,
            max_length=LONGEST[name],
            help_text=help_text,
        )


class LineageSerializer(Fields):
    """Where a version comes from: what an import found, and what somebody states. What nobody tells
    is empty. Sent, its other fields are ignored, so that what was read can be sent back."""

    address = StatedField(
        "address",
        "of an import without its query, which may be a secret; stated: an address that begins "
        "with https, hf, s3, gs, abfss, azureml, dbfs, runs, models, git, ssh or http",
    )
    run = StatedField("run", "what made it: its name or id")
    run_url = StatedField("run_url", "its page, http or https")
    commit = StatedField("commit", "of the repository, or of the run's code")
    dataset = StatedField("dataset", "what it was trained on")
    kind = serializers.ChoiceField(
        choices=[*(kind.value for kind in Kind), STATED],
        read_only=True,
        help_text="stated: nothing was found, somebody said it",
    )
    revision = serializers.CharField(
        default="", read_only=True, help_text="as it was asked for: a branch, a tag"
    )
    etag = serializers.CharField(default="", read_only=True)
    repository = serializers.CharField(default="", read_only=True)
    experiment = serializers.CharField(default="", read_only=True)
    by = serializers.CharField(read_only=True, help_text="who imported it, or stated it")
    at = serializers.DateTimeField(read_only=True)
    stated = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="the fields that somebody stated; the others an import found",
    )
    stated_by = serializers.CharField(read_only=True)
    stated_at = serializers.DateTimeField(read_only=True, allow_null=True)


def lineage_shown(
    found: dict[str, Any], stated: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    known = lineage_of(found, stated or {})
    return dict(LineageSerializer({**_EMPTY, **known}).data) if known else None


_EMPTY: dict[str, Any] = {
    **dict.fromkeys((*LONGEST, "revision", "etag", "repository", "experiment"), ""),
    "stated": [],
    "stated_by": "",
    "stated_at": None,
}
