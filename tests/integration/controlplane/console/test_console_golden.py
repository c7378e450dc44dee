"""Golden cases: from REST through Envoy to a real runtime, compared on the way back."""

from typing import Any

import pytest
from conftest_console import MODEL, REPEAT, user
from gateway_harness import Gateway
from rest_framework.test import APIClient

from controlplane.accounts.models import User

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
CASES = "/api/v1/test-cases"
RUN = "/api/v1/endpoints/digits/test-cases/run"
ACCEPT = "/api/v1/endpoints/digits/test-cases/accept"


def tensor(name: str, values: list[float], datatype: str = "FP32") -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": [1, len(values)], "data": values}


@pytest.fixture
def client(served: Gateway) -> APIClient:
    found = APIClient()
    found.force_authenticate(user())
    return found


def keep(client: APIClient, name: str, expected: list[float] | None, **changes: Any) -> str:
    case = {"name": name, "model": MODEL, "endpoint": "digits", "inputs": [tensor("x", [1, 2, 3])]}
    if expected is not None:
        case["expected"] = [tensor("y", expected)]
    saved = client.post(CASES, case | changes, format="json")
    assert saved.status_code == 201, saved.content
    return str(saved.json()["id"])


def test_golden_cases_are_asked_and_compared(client: APIClient) -> None:
    keep(client, "right", [2, 4, 6])
    keep(client, "nearly", [2, 4, 6.5], tolerance={"relative": 0.1})
    keep(client, "wrong", [2, 4, 7])
    keep(client, "narrow", [2, 4, 6], inputs=[tensor("x", [1, 2])])
    keep(client, "plain", None)
    keep(client, "of another model", [1], model="other")
    answer = client.post(RUN, {"deployment": "blue"}, format="json")
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert [found[key] for key in ("deployment", "passed", "wrong", "unanswered")] == [
        "blue", 2, 2, 0,
    ]  # fmt: skip
    told = {one["case"]: (one["status"], one["text"]) for one in found["cases"]}
    assert told["right"] == told["nearly"] == ("passed", "")
    assert told["wrong"] == ("differs", "y 1 of 3 values differ [0, 2]: 6, expected 7 ± 0.000701")
    status, text = told["narrow"]
    assert status == "refused"
    assert "(400)" in text
    assert found["cases"][-1]["differences"] == [
        {"output": "y", "text": "1 of 3 values differ [0, 2]: 6, expected 7 ± 0.000701", "count": 1}
    ]


def test_an_answer_is_accepted_and_a_refused_case_stays_as_it_is(client: APIClient) -> None:
    plain = keep(client, "plain", None)
    narrow = keep(client, "narrow", [9], inputs=[tensor("x", [1, 2])])
    answer = client.post(ACCEPT, {"cases": [plain, narrow]}, format="json")
    assert answer.status_code == 200, answer.content
    assert [one["status"] for one in answer.json()["cases"]] == ["passed", "refused"]
    kept = client.get(f"{CASES}/{plain}").json()
    assert (kept["golden"], kept["expected"][0]["name"]) == (True, "y")
    assert client.get(f"{CASES}/{narrow}").json()["expected"] == [tensor("y", [9])]
    again = client.post(RUN, {"cases": [plain]}, format="json").json()
    assert (again["passed"], len(again["cases"])) == (1, 1)


def test_answers_come_in_the_order_of_the_cases_that_were_named(client: APIClient) -> None:
    names = {keep(client, name, [2, 4, 6]): name for name in ("c", "a", "b")}
    for ids in (list(names), sorted(names), sorted(names, reverse=True)):
        found = client.post(RUN, {"cases": [*ids, ids[0]]}, format="json").json()
        assert [one["case"] for one in found["cases"]] == [names[one] for one in ids]


def test_a_deployment_that_is_not_routed_says_nothing_of_the_model(
    client: APIClient, served: Gateway
) -> None:
    keep(client, "right", [2, 4, 6])
    served.apply()
    (outcome,) = client.post(RUN, {}, format="json").json()["cases"]
    assert outcome["status"] == "unanswered"
    assert "(404)" in outcome["text"]


def test_what_cannot_be_asked_is_named(client: APIClient) -> None:
    plain = keep(client, "plain", None)
    other = keep(client, "other", [1], model="other")
    for body, text in (
        ({"cases": [plain]}, "cases: plain expect no answer."),
        ({"cases": ["nope"]}, "cases: 'nope' is no test case of the project default."),
        ({"cases": [other]}, f"expected one of {MODEL}, {REPEAT}, which blue serves"),
    ):
        refused = client.post(RUN, body, format="json")
        assert refused.status_code == 400
        assert text in refused.json()["detail"]
    assert client.post(RUN, {"deployment": "green"}, format="json").status_code == 404
    looker = APIClient()
    looker.force_authenticate(user(User.Role.VIEWER))
    assert looker.post(RUN, {}, format="json").status_code == 403
