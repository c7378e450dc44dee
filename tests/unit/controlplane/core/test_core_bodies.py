"""What a request brings: its JSON, its names, the texts of its path and query."""

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from rest_framework import exceptions, serializers
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from controlplane.core import parsers, requests
from controlplane.core.errors import Invalid
from controlplane.core.plain_text import PlainTextMiddleware


class ProbeSerializer(serializers.Serializer[Any]):
    period = serializers.IntegerField(required=False)


class ThingSerializer(serializers.Serializer[Any]):
    instance_count = serializers.IntegerField(required=False)
    probe = ProbeSerializer(required=False, allow_null=True)
    probes = ProbeSerializer(many=True, required=False)
    by_name = serializers.DictField(child=ProbeSerializer(), required=False)
    tags = serializers.DictField(child=serializers.CharField(), required=False)


class ShownSerializer(ThingSerializer):
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


def parse(text: str | bytes, encoding: str = "utf-8") -> Any:
    stream = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return parsers.SafeJSONParser().parse(stream, parser_context={"encoding": encoding})


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def sent(body: object) -> Request:
    request = APIRequestFactory().post("/things", json.dumps(body), content_type="application/json")
    return Request(request, parsers=[JSONParser()])


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (r'{"name": "a\u0000b"}', "name"),
        (r'{"name": "\ud800"}', "name"),
        (r'{"name": "\uDFFF!"}', "name"),
        (r'{"name": "\udc00\ud800"}', "name"),
        (r'{"tags": {"team": ["x", "\u0000"]}}', "tags.team.1"),
        (r'{"tags": {"\u0000": "x"}}', "tags"),
        (r'{"\u0000": "x"}', None),
        (r'"\u0000"', None),
    ],
)
def test_a_text_that_cannot_be_kept_is_refused_by_name(text: str, field: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text)
    assert refused.value.field == field
    assert "cannot be kept" in refused.value.message
    assert refused.value.hints


@pytest.mark.parametrize(
    "text",
    [r'{"a": "\\u0000"}', r'{"a": "\ud83d\ude00"}', '{"a": "😀"}', "[]", "null", "1.5", nested(99)],
)
def test_what_can_be_kept_comes_as_it_is(text: str) -> None:
    assert parse(text) == json.loads(text)


@pytest.mark.parametrize("levels", [102, 5_000, 200_000])
@pytest.mark.parametrize("kind", ["lists", "objects"])
def test_what_is_nested_too_deeply_is_refused(levels: int, kind: str) -> None:
    text = nested(levels) if kind == "lists" else '{"a":' * levels + "1" + "}" * levels
    with pytest.raises(Invalid, match="nested too deeply: expected 100 levels"):
        parse(text)


@pytest.mark.parametrize("text", ["{", "", "NaN", '{"a": Infinity}', b'"\xed\xa0\x80"', b'"\x00"'])
def test_what_is_no_json_is_said_to_be_none(text: str | bytes) -> None:
    with pytest.raises(exceptions.ParseError):
        parse(text)


@pytest.mark.parametrize("charset", ["bz2_codec", "no-such-charset"])
def test_a_charset_that_is_none_of_texts_is_refused(charset: str) -> None:
    with pytest.raises(exceptions.ParseError):
        parse("{}", charset)


def test_the_charset_is_heeded() -> None:
    assert parse('{"a": "é"}'.encode("utf-16"), "utf-16") == {"a": "é"}
    with pytest.raises(Invalid):
        parse(r'{"a": "\u0000"}'.encode("utf-16"), "utf-16")


@pytest.mark.parametrize(
    ("body", "field", "hint"),
    [
        ({"instnace_count": 3}, "instnace_count", "Did you mean `instance_count`?"),
        ({"probe": {"perid": 3}}, "probe.perid", "Did you mean `period`?"),
        ({"probes": [{}, {"perid": 3}]}, "probes.1.perid", "Did you mean `period`?"),
        ({"by_name": {"a": {"perid": 3}}}, "by_name.a.perid", "Did you mean `period`?"),
        (
            {"zzz": 1},
            "zzz",
            "Known here: by_name, instance_count, probe, probes, tags.",
        ),
    ],
)
def test_a_name_that_is_not_known_is_refused(body: object, field: str, hint: str) -> None:
    with pytest.raises(Invalid) as refused:
        requests.read_body(ThingSerializer, sent(body))
    assert (refused.value.field, refused.value.hints[0]) == (field, hint)


@pytest.mark.parametrize("body", [{"tags": {"any": "x"}}, {"probe": None}, {"probes": []}, {}])
def test_names_that_people_give_are_theirs(body: Mapping[str, Any]) -> None:
    assert requests.read_body(ThingSerializer, sent(body)) == body


@pytest.mark.parametrize("body", [[1], "x", 3, {"tags": [1]}, {"probes": {}}, {"probe": 3}])
def test_another_shape_is_left_to_the_serializer(body: object) -> None:
    with pytest.raises(exceptions.ValidationError):
        requests.read_body(ThingSerializer, sent(body))


def test_what_was_read_can_be_sent_back() -> None:
    ignored = requests.read_only(ShownSerializer, ThingSerializer) - {"name"}
    assert ignored == {"created_at"}
    body = {"name": "a", "created_at": "yesterday", "instance_count": 2}

    def read(name: str) -> dict[str, Any]:
        return requests.read_body(
            ThingSerializer, sent(body), ignored=ignored, fixed={"name": name}
        )

    assert read("a") == {"instance_count": 2}
    with pytest.raises(Invalid, match='expected "b" as in the path') as refused:
        read("b")
    assert refused.value.field == "name"


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("/things/a%00b", "path"),
        ("/things?q=a%00b", "q"),
        ("/things?limit=1&q%00=a", "query"),
        ("/things?q=%ED%A0%80", "q"),
        ("/things?q=%FF", "q"),
        ("/things?%FF=q", "query"),
    ],
)
def test_a_path_or_a_query_that_cannot_be_kept_is_refused(place: str, field: str) -> None:
    middleware = PlainTextMiddleware(lambda _: HttpResponse())
    answer = middleware(RequestFactory().get(place))
    body = json.loads(answer.content)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert (body["code"], body["field"]) == ("BadArgument", field)
    assert body["hints"]


@pytest.mark.parametrize("place", ["/things?q=%C3%A9", "/things/%C3%A9?a=b", "/things?q=a+b&&x"])
def test_other_paths_and_queries_pass(place: str) -> None:
    middleware = PlainTextMiddleware(lambda _: HttpResponse())
    assert middleware(RequestFactory().get(place)).status_code == 200


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400 + ".0"], ids=["e", "-e", "long"])
def test_a_number_that_no_number_holds_is_refused(number: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(f'{{"declared": {{"a": [{number}]}}}}')
    assert number[:20] in refused.value.message
    assert "expected" in refused.value.message
    assert len(refused.value.message) < 200
    assert refused.value.hints


def test_numbers_that_fit_are_read_as_json_has_them() -> None:
    text = "[1.5, -1.7e308, 1e308, 1e-999, 5e-324]"
    assert parse(text) == json.loads(text)
