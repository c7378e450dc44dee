"""Rules by header: what may be asked for, and what is refused with its reason."""

from typing import Any

import pytest

from controlplane.deployments.errors import RuleInvalid
from controlplane.deployments.rules import (
    LONGEST_VALUE,
    cookie_problem,
    expression_problem,
    header_problem,
    rule_text,
    rules_check,
    rules_without,
    value_problem,
)

TESTERS = {"header": "x-group", "exact": "testers", "deployment": "green"}
BETA = {"header": "user-agent", "prefix": "beta/", "deployment": "blue"}
KNOWN = ("blue", "green")


def checked(*rules: Any, before: Any = (), **unready: str) -> list[dict[str, Any]]:
    return rules_check(rules, before, deployments=KNOWN, unready=unready)


@pytest.mark.parametrize("name", ["x-group", "user-agent", "x_user_id", "x-forwarded-for", "a"])
def test_headers_that_tell_clients_apart(name: str) -> None:
    assert header_problem(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("authorization", "keys or sessions"),
        ("proxy-authorization", "keys or sessions"),
        ("cookie", "keys or sessions"),
        ("connection", "of the connection"),
        ("transfer-encoding", "of the connection"),
        ("te", "of the connection"),
        ("host", "of the connection"),
        ("x-shoal-deployment", "gateway's own"),
        ("x-shoal-endpoint", "gateway's own"),
        ("x-envoy-original-path", "gateway's own"),
        ("azureml-model-deployment", "gateway's own"),
        (":path", "no name of a header"),
        (":authority", "no name of a header"),
        ("x group", "no name of a header"),
        ("x-group\r\nx-evil", "no name of a header"),
        ("x-%REQ(authorization)%", "no name of a header"),
        ("", "no name of a header"),
        ("x" * 65, "no name of a header"),
    ],
)
def test_headers_that_nobody_is_routed_by(name: str, why: str) -> None:
    assert why in (header_problem(name) or "")


@pytest.mark.parametrize("name", ["arm", "shoal_arm", "A-1"])
def test_names_of_cookies(name: str) -> None:
    assert cookie_problem(name) is None


@pytest.mark.parametrize("name", ["", "a=b", "a;b", "a b", "%REQ(authorization)%", "x" * 65])
def test_no_names_of_cookies(name: str) -> None:
    assert "no name of a cookie" in (cookie_problem(name) or "")


@pytest.mark.parametrize("value", ["", " a", "a ", "a\nb", "ä", "x" * (LONGEST_VALUE + 1)])
@pytest.mark.parametrize("kind", ["exact", "prefix", "regex"])
def test_values_that_no_header_has(kind: str, value: str) -> None:
    assert "cannot be compared" in (value_problem(kind, value) or "")


@pytest.mark.parametrize(
    "pattern", [r"team-\d+", "(?:beta|canary)/.*", r"[^,]+@example\.org", "a|", "(a+)+b", r"\bqa\b"]
)
def test_expressions_that_both_read_alike(pattern: str) -> None:
    assert expression_problem(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?P<n>a)", "(?i)a", "(?<!a)b", "(?>a)", r"(a)\1", r"\p{L}", r"\x41", r"\Z",
        r"\_", "a{1000}", "(a{9}){9}", "a{,3}", "[[:alpha:]]", "[a--b]", "a++", "(",
        "[", "*a", "a**", "\\",
    ],
)  # fmt: skip
def test_expressions_that_envoy_might_refuse_or_read_otherwise(pattern: str) -> None:
    assert repr(pattern) in (expression_problem(pattern) or "")


def test_rules_that_keep_the_rule() -> None:
    assert checked(TESTERS, BETA) == [TESTERS, BETA]
    assert checked() == []
    assert checked(TESTERS, before=[TESTERS], green="is Updating") == [TESTERS]


@pytest.mark.parametrize(
    ("rules", "unready", "why"),
    [
        ([{**TESTERS, "deployment": "red"}], {}, "Rule 1: there is no deployment red"),
        ([{**BETA, "prefix": f"b{n}"} for n in range(17)], {}, "17 rules: expected at most 16"),
        ([BETA, TESTERS], {"green": "has no ready replica"}, "Rule 2: green has no ready replica"),
        ([TESTERS, {**TESTERS, "deployment": "blue"}], {}, "Rule 2 asks for the same as rule 1"),
    ],
)
def test_rules_that_break_the_rule(rules: Any, unready: dict[str, str], why: str) -> None:
    with pytest.raises(RuleInvalid, match=why) as refused:
        checked(*rules, **unready)
    assert refused.value.field == "traffic_rules"


def test_what_remains_and_how_it_reads() -> None:
    assert rules_without([TESTERS, BETA], "green") == [BETA]
    assert rule_text(TESTERS) == "x-group = testers -> green"
    assert rule_text({"header": "x-qa", "present": True, "deployment": "blue"}) == "x-qa -> blue"
