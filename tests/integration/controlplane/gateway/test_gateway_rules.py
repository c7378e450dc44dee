"""Rules by header and clients that stay with a deployment, seen through a real Envoy."""

import dataclasses
import http.cookies
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest
import tritonclient.grpc as triton_grpc
from gateway_harness import KEY, Gateway, Upstream, deployment, endpoint, wait_until
from gateway_harness import digits as digits_of

from controlplane.deployments.rules import LONGEST_VALUE, expression_problem
from controlplane.deployments.selectors import Rule, Sticky
from controlplane.deployments.slots import slots_shared
from controlplane.gateway.access_log import parse
from controlplane.gateway.admin import EnvoyAdmin

Launch = Callable[[str], Upstream]
Apply = Callable[..., list[tuple[str, int]]]
INFER = "/endpoints/digits/v2/models/m/infer"
CLIENTS = [f"client-{number}" for number in range(300)]
ARMS = ("blue", "gold", "green")


@pytest.fixture
def share(gateway: Gateway, upstreams: Launch) -> Apply:
    """Endpoint digits with this split, after the one before, and these rules; sticky by a name."""
    replicas = {name: upstreams(name) for name in ARMS}
    runs: list[tuple[str, int]] = []

    def apply(
        traffic: Mapping[str, int], *, rules: tuple[Rule, ...] = (), **sticky: Any
    ) -> list[tuple[str, int]]:
        runs[:] = slots_shared(runs, traffic)
        view = digits_of(
            *(deployment(name, traffic.get(name, 0), up) for name, up in replicas.items())
        )
        told: dict[str, Any] = {"kind": "header", "name": "x-user", "max_age_s": 60, **sticky}
        kept = Sticky(slots=tuple(runs), **told) if sticky else None
        gateway.apply(dataclasses.replace(view, rules=rules, sticky=kept))
        return runs

    return apply


def arm(client: httpx.Client, path: str = INFER, **headers: str) -> str:
    """Who answers, as the replica itself says and as the gateway tells."""
    answer = client.post(path, headers=headers, json={})
    told = answer.headers["x-shoal-deployment"]
    assert answer.json()["replica"] == told
    return told


def by_client(client: httpx.Client) -> dict[str, str]:
    return {name: arm(client, **{"x-user": name}) for name in CLIENTS}


def grpc_arm(client: triton_grpc.InferenceServerClient, **headers: str) -> str:
    told = {"x-shoal-endpoint": "digits", "authorization": f"Bearer {KEY}", **headers}
    return str(client.get_server_metadata(headers=told).name)


# --- rules ---------------------------------------------------------------------------------------


def test_the_first_rule_that_fits_goes_before_the_shares(gateway: Gateway, share: Apply) -> None:
    rules = (
        Rule("x-group", "exact", "testers", "green"),
        Rule("user-agent", "prefix", "beta/", "gold"),
        Rule("x-team", "regex", r"team-\d+", "green"),
        Rule("x-debug", "present", "", "gold"),
    )
    share({"blue": 100}, rules=rules)
    told = {
        "green": [{"x-group": "testers"}, {"x-team": "team-17"}, {"X-GROUP": "testers"}],
        "gold": [{"user-agent": "beta/2"}, {"x-debug": "no"}],
        "blue": [{"x-group": "Testers"}, {"x-team": "a team-17"}, {"x-team": "team-"}, {}],
    }
    with gateway.client() as client:
        for expected, asked in told.items():
            for headers in asked:
                assert arm(client, **headers) == expected, headers
                assert arm(client, "/endpoints/digits/score", **headers) == expected
        both = {"x-debug": "1", "x-group": "testers"}
        assert arm(client, **both) == "green"
        assert arm(client, **both, **{"x-shoal-deployment": "blue"}) == "blue"
        assert arm(client, **both, **{"azureml-model-deployment": "gold"}) == "gold"
        wrong = client.post(INFER, headers={**both, "x-shoal-deployment": "red"}, json={})
        assert wrong.status_code == 404
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        assert grpc_arm(client, **{"x-group": "testers"}) == "green"
        assert grpc_arm(client) == "blue"


def test_what_a_rule_or_a_pin_sends_is_counted_for_who_answered(
    gateway: Gateway, share: Apply
) -> None:
    """Rollouts, experiments and charts are made of these lines."""
    log, path = gateway.settings.folder / "access.log", "/endpoints/digits/v2/models/told/infer"
    share({"blue": 100}, rules=(Rule("x-tier", "exact", "gold", "gold"),))
    with gateway.client() as client:
        for _ in range(3):
            assert arm(client, path, **{"x-tier": "gold"}) == "gold"
        assert arm(client, path, **{"x-shoal-deployment": "green"}) == "green"
        assert arm(client, path) == "blue"

    def counted() -> Counter[str]:
        # why whole lines: the log is read while Envoy writes it
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        found = [parse(line) for line in lines if path in line and line.endswith("\n")]
        return Counter(entry.deployment for entry in found if entry is not None)

    wait_until(lambda: counted().total() >= 5, "all five are in the log")
    assert counted() == {"gold": 3, "green": 1, "blue": 1}


def test_a_rule_opens_nothing_and_is_of_one_endpoint(gateway: Gateway, upstreams: Launch) -> None:
    blue, green = upstreams("blue"), upstreams("green")
    one = digits_of(deployment("blue", 100, blue), deployment("green", 0, green))
    other = endpoint("other", deployment("blue", 100, blue), keys=("key-of-other",))
    rule = Rule("x-group", "present", "", "green")
    gateway.apply(dataclasses.replace(one, rules=(rule,)), other)
    grouped = {"x-group": "1"}
    with gateway.client() as client:
        assert arm(client, **grouped) == "green"
        refused = client.post("/endpoints/digits/v2/repository/index", headers=grouped)
        assert refused.status_code == 403
    for key in ("key-of-other", None, "wrong"):
        with gateway.client(key) as client:
            assert client.post(INFER, headers=grouped, json={}).status_code == 401
    with gateway.client("key-of-other") as client:
        path = "/endpoints/other/v2/models/m/infer"
        assert arm(client, path, **grouped) == "blue"


def test_a_rule_answers_where_nobody_has_a_share(gateway: Gateway, share: Apply) -> None:
    share({}, rules=(Rule("x-group", "exact", "testers", "green"),))
    with gateway.client() as client:
        assert arm(client, **{"x-group": "testers"}) == "green"
        assert client.post(INFER, json={}).status_code == 404


def test_what_a_rule_or_a_pin_sends_is_not_copied(gateway: Gateway, upstreams: Launch) -> None:
    blue, gold, green = (upstreams(name) for name in ARMS)
    copied = dataclasses.replace(deployment("green", 0, green), mirror_percent=100)
    view = digits_of(deployment("blue", 100, blue), deployment("gold", 0, gold), copied)
    gateway.apply(dataclasses.replace(view, rules=(Rule("x-group", "present", "", "gold"),)))

    def copies() -> int:
        url = f"http://127.0.0.1:{green.http_port}/v2"
        return int(httpx.get(url, trust_env=False).json()["answered"])

    with gateway.client() as client:
        for _ in range(10):
            assert arm(client, **{"x-group": "testers"}) == "gold"
            assert arm(client, **{"x-shoal-deployment": "gold"}) == "gold"
        for _ in range(5):
            assert arm(client) == "blue"
    wait_until(lambda: copies() >= 5, "the copies came")
    assert copies() == 5


def test_envoy_takes_every_expression_that_we_do(gateway: Gateway, share: Apply) -> None:
    """The longest, and the dearest for RE2, whose programs Envoy limits."""
    whole = LONGEST_VALUE
    patterns = [
        "." * whole, r"\W" * (whole // 2), "[^a]" * (whole // 4), "(.|.)" * (whole // 5),
        ".*" * (whole // 2), "(.*)+" * (whole // 5), r"[^\d-]+" * (whole // 7), "|" + "a|b" * 20,
        r"(?:\S|\D|.)*" * (whole // 14), r"\b\@\ \'", "[]a]", "[^]a]", "[a-z-9]", "()", "a*?b+?c??",
        "(" * 60 + "." + ")*" * 33,
    ]  # fmt: skip
    fit = [pattern[:whole] for pattern in patterns if expression_problem(pattern[:whole]) is None]
    assert len(fit) >= 14
    share({"blue": 100}, rules=tuple(Rule("x-t", "regex", one, "green") for one in fit))
    with gateway.client() as client:
        assert arm(client, **{"x-t": "axb"}) == "green"
    assert EnvoyAdmin.problems(gateway.admin) == ()


# --- clients that stay ---------------------------------------------------------------------------


def test_a_new_split_moves_no_more_clients_than_it_must(gateway: Gateway, share: Apply) -> None:
    header = {"kind": "header", "name": "x-user"}
    split = {"blue": 50, "gold": 20, "green": 30}
    share(split, **header)
    with gateway.client() as client:
        before = by_client(client)
        assert by_client(client) == before
        found = Counter(before.values())
        for name, percent in split.items():
            assert abs(found[name] - 3 * percent) < 40
        # the third shrinks: cut by names, gold's clients would go to blue
        share({"blue": 60, "gold": 30, "green": 10}, **header)
        after = by_client(client)
        moved = {name for name in CLIENTS if after[name] != before[name]}
        assert moved
        assert {before[name] for name in moved} == {"green"}
        share(split, **header)
        assert by_client(client) == before
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        for name in CLIENTS[:50]:
            assert grpc_arm(client, **{"x-user": name}) == before[name]


def test_requests_without_the_header_are_drawn_each_by_itself(
    gateway: Gateway, share: Apply
) -> None:
    share({"blue": 50, "green": 50}, kind="header", name="x-user")
    with gateway.client() as client:
        found = Counter(arm(client) for _ in range(100))
    assert min(found["blue"], found["green"]) > 20


def test_a_cookie_keeps_its_client_from_the_first_answer_on(gateway: Gateway, share: Apply) -> None:
    share({"blue": 50, "green": 50}, kind="cookie", name="arm", max_age_s=3600)
    first: list[str] = []
    for _ in range(40):
        with gateway.client() as client:
            answer = client.post(INFER, json={})
            first.append(answer.headers["x-shoal-deployment"])
            (given,) = answer.headers.get_list("set-cookie")
            cookie = http.cookies.SimpleCookie(given)["arm"]
            assert (cookie["path"], cookie["max-age"]) == ("/endpoints/digits", "3600")
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
            assert not cookie["secure"]
            again = client.post(INFER, json={})
            assert "set-cookie" not in again.headers
            assert {again.headers["x-shoal-deployment"], arm(client)} == {first[-1]}
    assert 5 < Counter(first)["blue"] < 35


def test_a_client_brings_a_cookie_of_its_own(gateway: Gateway, share: Apply) -> None:
    share({"blue": 50, "green": 50}, kind="cookie", name="arm")
    with gateway.client() as client:
        before = {name: arm(client, cookie=f"a=b; arm={name}") for name in CLIENTS[:60]}
        client.cookies.clear()
        assert set(before.values()) == {"blue", "green"}
        share({"blue": 80, "green": 20}, kind="cookie", name="arm")
        after = {name: arm(client, cookie=f"arm={name}; a=b") for name in before}
    assert all(after[name] == "blue" for name, was in before.items() if was == "blue")
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as grpc:
        for name in CLIENTS[:20]:
            assert grpc_arm(grpc, cookie=f"arm={name}") == after[name]


def test_over_tls_the_cookie_is_secure(gateway: Gateway, share: Apply) -> None:
    share({"blue": 100}, kind="cookie", name="arm")
    url = f"https://127.0.0.1:{gateway.settings.tls_port}"
    context = ssl.create_default_context(cafile=gateway.ca)
    forged = {"Authorization": f"Bearer {KEY}", "x-forwarded-proto": "http"}
    with httpx.Client(base_url=url, headers=forged, verify=context, trust_env=False) as client:
        given = client.post(INFER, json={}).headers["set-cookie"]
    assert http.cookies.SimpleCookie(given)["arm"]["secure"]


@pytest.mark.parametrize("odd", ["x; Domain=evil.example", "%00", "a" * 65, "ü"])
def test_an_odd_request_id_is_no_cookie(gateway: Gateway, share: Apply, odd: str) -> None:
    share({"blue": 100}, kind="cookie", name="arm")
    with gateway.client() as client:
        answer = client.post(INFER, headers={"x-request-id": odd.encode()}, json={})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


def test_rules_and_pins_go_before_what_keeps_a_client(gateway: Gateway, share: Apply) -> None:
    rule = Rule("x-group", "exact", "testers", "green")
    share({"blue": 50, "gold": 50}, rules=(rule,), kind="header", name="x-user")
    with gateway.client() as client:
        for name in CLIENTS[:20]:
            assert arm(client, **{"x-user": name, "x-group": "testers"}) == "green"
            assert arm(client, **{"x-user": name, "x-shoal-deployment": "gold"}) == "gold"
