"""Which deployment gets a request: rules by header, and what clients are told apart by."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from controlplane.deployments.rules import (
    KINDS,
    MOST_RULES,
    cookie_problem,
    header_problem,
    value_problem,
)
from controlplane.deployments.serializers.ranges import RangeField

Fields = serializers.Serializer[Any]
LONGEST_AGE_S = 400 * 86_400  # what browsers keep a cookie for at most
DAY_S = 86_400


class HeaderField(serializers.CharField):
    """The name of a request header, in lower case."""

    def __init__(self, **options: Any) -> None:
        told = "of requests, in any case; none that carries keys or is of the connection"
        super().__init__(help_text=f"name of a header {told}", **options)

    def to_internal_value(self, data: Any) -> str:
        return _without_problem(str(super().to_internal_value(data)).lower(), header_problem)


class CookieField(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        return _without_problem(str(super().to_internal_value(data)), cookie_problem)


@extend_schema_serializer(component_name="TrafficRule")
class TrafficRuleSerializer(Fields):
    """Requests whose header fits go to the deployment, whatever the shares say. One of `exact`,
    `prefix`, `regex` (of the whole value, as RE2 has them, without counts) and `present`."""

    header = HeaderField()
    exact = serializers.CharField(required=False, trim_whitespace=False)
    prefix = serializers.CharField(required=False, trim_whitespace=False)
    regex = serializers.CharField(required=False, trim_whitespace=False)
    present = serializers.BooleanField(
        required=False, help_text="true: the header is there, whatever it says"
    )
    deployment = serializers.CharField(max_length=32)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        named = [kind for kind in KINDS if kind in attrs]
        if len(named) != 1 or attrs.get("present") is False:
            came = ", ".join(f"{kind}: {attrs[kind]!r}" for kind in named) or "none of them"
            raise serializers.ValidationError(
                f"{came}: expected one of exact, prefix, regex, or present: true."
            )
        (kind,) = named
        if kind != "present" and (problem := value_problem(kind, attrs[kind])):
            raise serializers.ValidationError({kind: problem})
        return attrs


@extend_schema_serializer(component_name="Sticky")
class StickySerializer(Fields):
    """Clients with the same value stay with one deployment while the shares stay, and a change of
    the shares moves no more of them than it must. One of `header` and `cookie`."""

    header = HeaderField(required=False)
    cookie = CookieField(
        required=False, help_text="its name; the gateway sets one for who brings none"
    )
    max_age_s = RangeField(
        required=False,
        least=1,
        most=LONGEST_AGE_S,
        help_text=f"lifetime of a cookie that the gateway sets; default {DAY_S}",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        named = [kind for kind in ("header", "cookie") if kind in attrs]
        if len(named) != 1:
            raise serializers.ValidationError(
                f"{' and '.join(named) or 'neither'} given: expected one of header and cookie."
            )
        if named == ["header"] and "max_age_s" in attrs:
            raise serializers.ValidationError(
                {"max_age_s": f"{attrs['max_age_s']}: only a cookie has a lifetime."}
            )
        return {"max_age_s": DAY_S, **attrs} if named == ["cookie"] else attrs


def rules_field() -> TrafficRuleSerializer:
    return TrafficRuleSerializer(
        many=True,
        required=False,
        help_text="in order, the first that fits sends a request on; the whole list, at most "
        f"{MOST_RULES}",
    )


def _without_problem(name: str, problem: Callable[[str], str | None]) -> str:
    if text := problem(name):
        raise serializers.ValidationError(text)
    return name
