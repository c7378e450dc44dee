"""What a serializer refuses is told with its place, the value that came and what was expected."""

from typing import Any

import pytest
from rest_framework import serializers
from rest_framework.test import APIClient

from controlplane.core.filters import ChoicesField
from controlplane.core.validation_messages import expected, explained, shown

SECRET = "hunter2-hunter2"


def positive(value: int) -> None:
    if value % 2:
        raise serializers.ValidationError(f"{value} is odd.")


class InnerSerializer(serializers.Serializer[Any]):
    period = serializers.IntegerField(min_value=1, max_value=9)
    label = serializers.CharField(required=False, max_length=5)


class FormSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=8, min_length=3)
    note = serializers.CharField(allow_blank=True, allow_null=True, required=False)
    count = serializers.IntegerField(min_value=0, max_value=64, required=False)
    even = serializers.IntegerField(validators=[positive], required=False)
    share = serializers.FloatField(min_value=0.5, required=False)
    size = serializers.IntegerField(max_value=7, required=False, allow_null=True)
    on = serializers.BooleanField(required=False)
    kind = serializers.ChoiceField(["key", "token"], required=False)
    digest = serializers.RegexField("^[0-9a-f]{4}$", required=False)
    states = ChoicesField(["Failed", "Done"])
    at = serializers.DateTimeField(required=False)
    tags = serializers.DictField(child=serializers.CharField(), required=False)
    words = serializers.ListField(
        child=serializers.CharField(), max_length=2, allow_empty=False, required=False
    )
    probe = InnerSerializer(required=False)
    probes = InnerSerializer(many=True, required=False)
    password = serializers.CharField(max_length=4, required=False)
    environment = serializers.DictField(child=serializers.CharField(max_length=4), required=False)
    key_type = serializers.ChoiceField(["primary", "secondary"], required=False)


def violations(**body: Any) -> dict[str, Any]:
    form = FormSerializer(data={"name": "digits", **body})
    assert not form.is_valid()
    return dict(explained(form).detail)  # type: ignore[arg-type] # a form's errors are a dict


LONG = "x" * 70


@pytest.mark.parametrize(
    ("body", "place", "says"),
    [
        ({"name": None}, ["name"], "name: null, expected a text of 3 to 8 characters."),
        ({"name": ""}, ["name"], 'name: "", expected a text of 3 to 8 characters.'),
        ({"name": []}, ["name"], "name: [], expected a text of 3 to 8 characters."),
        ({"name": True}, ["name"], "name: true, expected a text of 3 to 8 characters."),
        (
            {"name": LONG},
            ["name"],
            f'name: "{LONG[:58]}… (70 characters), expected a text of 3 to 8 characters.',
        ),
        ({"note": {"a": 1}}, ["note"], "note: an object, expected a text or null."),
        ({"count": "three"}, ["count"], 'count: "three", expected a whole number 0 to 64.'),
        ({"count": None}, ["count"], "count: null, expected a whole number 0 to 64."),
        ({"count": 65}, ["count"], "count: 65, expected a whole number 0 to 64."),
        ({"count": 1.5}, ["count"], "count: 1.5, expected a whole number 0 to 64."),
        ({"count": "9" * 2000}, ["count"], None),
        ({"even": 3}, ["even"], "even: 3 is odd."),
        ({"share": 0}, ["share"], "share: 0, expected a number 0.5 or more."),
        ({"size": 8}, ["size"], "size: 8, expected a whole number at most 7 or null."),
        ({"on": "perhaps"}, ["on"], 'on: "perhaps", expected true or false.'),
        ({"digest": "no"}, ["digest"], 'digest: "no", expected a text that matches ^[0-9a-f]{4}$.'),
        ({"kind": "basic"}, ["kind"], 'kind: "basic", expected one of key, token.'),
        ({"states": "Lost"}, ["states"], 'states: "Lost" is none of Failed, Done.'),
        ({"at": "noon"}, ["at"], 'at: "noon", expected a time such as 2026-01-31T12:00:00Z.'),
        ({"tags": ["a"]}, ["tags"], "tags: a list of 1, expected an object."),
        ({"tags": {"a": None}}, ["tags", "a"], "tags.a: null, expected a text that is not empty."),
        ({"words": []}, ["words"], "words: [], expected a list of 1 to 2."),
        ({"words": ["a"] * 3}, ["words"], "words: a list of 3, expected a list of 1 to 2."),
        ({"words": "a"}, ["words"], 'words: "a", expected a list of 1 to 2.'),
        (
            {"words": ["a", ""]},
            ["words", 1],
            'words.1: "", expected a text that is not empty.',
        ),
        (
            {"probe": 5},
            ["probe", "non_field_errors"],
            "probe: 5, expected an object with period, label.",
        ),
        (
            {"probe": {}},
            ["probe", "period"],
            "probe.period: missing, expected a whole number 1 to 9.",
        ),
        (
            {"probes": [{"period": 1}, {"period": 0}]},
            ["probes", 1, "period"],
            "probes.1.period: 0, expected a whole number 1 to 9.",
        ),
        (
            {"password": SECRET},
            ["password"],
            "password: a text of 15 characters, expected a text of 1 to 4 characters.",
        ),
        ({"password": 12345}, ["password"], None),
        (
            {"environment": {"A": SECRET}},
            ["environment", "A"],
            "environment.A: a text of 15 characters, expected a text of 1 to 4 characters.",
        ),
        (
            {"key_type": "third"},
            ["key_type"],
            'key_type: "third", expected one of primary, secondary.',
        ),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_the_table(body: dict[str, Any], place: list[Any], says: str | None) -> None:
    found: Any = violations(**body)
    for step in place:
        found = found[step]
    if says is not None:
        assert [str(text) for text in found] == [says]
    else:
        assert ", expected " in found[0]
        assert "12345" not in found[0]
        assert len(found[0]) < 200


def test_what_is_no_object_at_all() -> None:
    form = InnerSerializer(data=[1])
    assert not form.is_valid()
    (text,) = explained(form).detail["non_field_errors"]  # type: ignore[call-overload, index]
    assert str(text) == "the body: a list of 1, expected an object with period, label."


@pytest.mark.parametrize(
    "name",
    ["password", "new_password", "token", "join_token", "api_key", "key", "keys", "secret",
     "secret_environment", "environment", "environment_variables", "credentials", "private_note"],
)  # fmt: skip
def test_what_may_be_secret_is_never_shown(name: str) -> None:
    for path in ((name,), ("spec", name), (name, "DB_URL"), ("items", "0", name)):
        assert SECRET not in shown(SECRET, path)


def test_containers_are_not_looked_into() -> None:
    assert SECRET not in shown({"password": SECRET})
    assert SECRET not in shown([SECRET])


def test_long_lists_of_words_end() -> None:
    field = serializers.ChoiceField([f"word-{index}" for index in range(99)])
    assert expected(field).endswith("word-39 and 59 more")


def test_a_problem_says_it_first(api: APIClient) -> None:
    body = api.get("/api/v1/models?limit=many").json()
    assert body["detail"] == 'limit: "many", expected a whole number 1 to 500.'
    assert (body["field"], body["errors"]) == ("limit", {"limit": [body["detail"]]})
