"""What an endpoint's gateways hold its callers to: origins, size of bodies, pace, and what they
are told apart by."""

import re
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.serializers.ranges import RangeField
from controlplane.deployments.serializers.routing import StickySerializer
from controlplane.deployments.types import RateLimitPer

Fields = serializers.Serializer[Any]
LIMIT_ORIGINS = 50
LIMIT_BODY_BYTES = 2**31 - 1  # what a gRPC message can have
LIMIT_PER_SECOND = 1_000_000
ANY_ORIGIN = "*"
# As browsers send it: lower case, no path, no port that goes without saying.
ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
DEFAULT_PORTS = {"http": "80", "https": "443"}


def origin_problem(origin: str) -> str | None:
    """Why no browser would ever send ``origin``; None when one may."""
    found = ORIGIN.fullmatch(origin)
    if found is None:
        return (
            f"{origin!r} is no origin: write it as browsers send it, scheme://host or "
            "scheme://host:port with http or https, in lower case and without a path, "
            'or "*" alone for every origin.'
        )
    port = found["port"]
    if port is not None and int(port) > 65_535:
        return f"{origin!r}: {port} is no port; expected 1 to 65535."
    if port == DEFAULT_PORTS[found["scheme"]]:
        return f"{origin!r} never comes: browsers leave out port {port} of {found['scheme']}."
    return None


class OriginsField(serializers.ListField):
    """Sorted, without doubles."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            child=serializers.CharField(max_length=260),
            max_length=LIMIT_ORIGINS,
            help_text="pages of these origins may call it from a browser: exact "
            '(`https://shop.example`), or `["*"]`; empty: none',
            **options,
        )

    def run_validation(self, data: Any = serializers.empty) -> Any:
        origins = sorted(set(super().run_validation(data)))
        if origins == [ANY_ORIGIN]:
            return origins
        if ANY_ORIGIN in origins:
            raise serializers.ValidationError('"*" stands alone: it lets every origin in.')
        if problems := [text for text in map(origin_problem, origins) if text]:
            raise serializers.ValidationError(problems)
        return origins


class MaxRequestBytesField(RangeField):
    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_null=True,
            least=1,
            most=LIMIT_BODY_BYTES,
            help_text="bytes of a request's body, more get 413; null: no limit but the runtime's",
            **options,
        )


@extend_schema_serializer(component_name="RateLimit")
class RateLimitSerializer(Fields):
    """At each gateway; more get 429 with `Retry-After`."""

    requests_per_second = RangeField(least=1, most=LIMIT_PER_SECOND)
    burst = RangeField(
        required=False,
        least=1,
        most=LIMIT_PER_SECOND,
        help_text="how many may come at once after a pause; default: requests_per_second",
    )
    per = serializers.ChoiceField(
        choices=RateLimitPer.choices,
        required=False,
        default=RateLimitPer.ENDPOINT,
        help_text="key: each of the endpoint's keys has a count of its own (all tokens share one)",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {**attrs, "burst": attrs.get("burst", attrs["requests_per_second"])}


class LimitsFields(Fields):
    """Of an endpoint that is made or changed; what is left out stays as it is."""

    cors_origins = OriginsField(required=False)
    max_request_bytes = MaxRequestBytesField(required=False)
    rate_limit = RateLimitSerializer(required=False, allow_null=True)
    sticky = StickySerializer(required=False, allow_null=True)
