"""Forms of results: az's tab-separated values (as its library writes them), queries, tables."""

import json

import pytest

from shoal.cli.main import main
from shoal.cli.output import tsv
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x\n"),
        (3, "3\n"),
        (2.5, "2.5\n"),
        (True, "true\n"),
        (None, "None\n"),
        (["a", "b"], "a\nb\n"),
        ([["a", 1], ["b", 2]], "a\t1\nb\t2\n"),
        ({"b": 1, "a": "x"}, "1\tx\n"),
        ([{"b": 1, "a": [1, 2]}, {"b": None, "a": {"q": 1}}], "1\t2\nNone\t\n"),
        ([[True, None, 1.0]], "True\tNone\t1.0\n"),
        ([], ""),
        ({}, "\n"),
        ({"x": True}, "True\n"),
        ("a\tb\nc", "a\tb\nc\n"),
    ],
)
def test_tab_separated_values_are_az_s(value: object, text: str) -> None:
    assert tsv(value) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--query", "name", "-o", "tsv"], "net\n"),
        (["--query", "name"], "net\n"),
        (["--query", "name", "-o", "json"], '"net"\n'),
        (["--query", "nothing", "-o", "json"], ""),
        (["--query", "[name, auth_mode]", "-o", "tsv"], "net\nkey\n"),
        (["--query", "{n: name, m: auth_mode}", "-o", "tsv"], "net\tkey\n"),
        (["--query", 'properties."azureml.onlineendpointid"', "-o", "none"], ""),
        (["--query", "{n: name, m: auth_mode}"], "n  net\nm  key\n"),
    ],
)
def test_a_query_takes_a_part_of_the_result(
    installed: FakeServer, capsys: Capture, arguments: list[str], text: str
) -> None:
    assert main(["online-endpoint", "create", "-n", "net", "-o", "none"]) == 0
    assert main(["online-endpoint", "show", "-n", "net", *arguments]) == 0
    assert capsys.readouterr().out == text


def test_a_list_can_be_queried_into_rows(installed: FakeServer, capsys: Capture) -> None:
    for name in ("net", "web"):
        main(["online-endpoint", "create", "-n", name, "-o", "none"])
    assert main(["online-endpoint", "list", "--query", "[].{n: name, t: traffic}"]) == 0
    assert capsys.readouterr().out == "n    t\nnet  {}\nweb  {}\n"
    assert main(["endpoint", "list", "--query", "[?name=='web'].name", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == ["web"]


def test_a_query_that_is_none_is_wrong_usage(installed: FakeServer, capsys: Capture) -> None:
    assert main(["endpoint", "list", "--query", "[?"]) == 2
    assert "JMESPath" in capsys.readouterr().err
