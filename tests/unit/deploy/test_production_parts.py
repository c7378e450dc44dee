"""What `make prod-test` counts as lost, and whom a Service leads to."""

import pytest

from tests.production.calls import NOTICED_S, Calls, CallsCase, Loss
from tests.production.installed import VALUES
from tests.production.services import Service, named
from tests.support.helm_chart import rendered


@pytest.mark.parametrize(
    ("began", "ended", "excused"),
    [
        (9.0, 10.2, True),  # under way when it died
        (10.1 + NOTICED_S / 2, 11.0, True),  # sent before anybody could know
        (10.1 + NOTICED_S * 2, 11.0, False),
        (8.0, 9.9, False),  # lost before
    ],
)
def test_only_what_was_under_way_at_a_death_is_excused(
    began: float, ended: float, excused: bool
) -> None:
    calls = Calls("http://nobody", "key", kills=[(10.0, 10.1 + NOTICED_S)])
    calls.seen["503"] += 1
    calls.failed.append(Loss(began, ended, "503"))
    assert (calls.lost, calls.in_flight, calls.unexcused) == (1, int(excused), int(not excused))
    assert CallsCase("a case", loads=[calls]).figures()[1] == "1: 1 503"


def test_services_lead_to_the_ports_of_the_pods_that_they_select() -> None:
    documents = rendered(VALUES)
    templates = {
        document["metadata"]["name"]: document["spec"]["template"]
        for document in documents
        if document["kind"] == "Deployment"
    }
    services = {each["metadata"]["name"]: each for each in documents if each["kind"] == "Service"}
    assert "shoal-agents.ml.svc" in named(services["shoal-agents"])
    pods = [(template, name) for name, template in templates.items()]
    for name, leads_to in {
        "shoal-gateway": [("shoal-gateway", 8443)],
        "shoal-gateway-plain": [("shoal-gateway", 8090)],
        "shoal-web": [("shoal-web", 8080)],
        "shoal-agents": [("shoal-agents", 8445)],
    }.items():
        spec = services[name]["spec"]
        (port,) = spec["ports"]
        service = Service(name, "10.0.0.1", port["port"], port["targetPort"], spec["selector"])
        assert service.endpoints(pods) == leads_to
