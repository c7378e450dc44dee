"""What `make prod-test` counts as lost, and whom a Service leads to."""

import threading
import time

import pytest

from tests.production.calls import NOTICED_S, Calls, CallsCase, Kill, Loss
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
    kill = Kill(10.0, 10.1 + NOTICED_S, heard={0: 10.1 + NOTICED_S})
    calls = Calls("http://nobody", "key", kills=[kill])
    calls.seen["503"] += 1
    calls.failed.append(Loss(began, ended, "503"))
    assert (calls.lost, calls.in_flight, calls.unexcused) == (1, int(excused), int(not excused))
    assert CallsCase("a case", loads=[calls]).figures()[1] == "1: 1 503"


def test_a_caller_is_excused_until_it_is_answered_again() -> None:
    """However long a proxy takes to run on a busy machine, and each caller for itself."""
    kill = Kill(10.0, 10.1)
    late, other = Loss(12.0, 12.5, "503", caller=1), Loss(12.0, 12.5, "503", caller=2)
    assert kill.excuses(late)
    kill.heard[1] = 11.0
    assert (kill.excuses(late), kill.excuses(other)) == (False, True)


def test_answers_end_the_excuse() -> None:
    calls = Calls("http://nobody", "key")
    with calls.killing():
        pass
    kill = calls.kills[0] = Kill(time.monotonic() - 10, time.monotonic() - 9)
    calls._count("503", None, kill.ended + 1)
    calls._count("200", None, kill.ended - 1)  # one that was on its way tells nothing
    assert (calls.unexcused, kill.heard) == (0, {})
    calls._count("200", None, kill.ended + 2)
    calls._count("503", None, kill.heard[threading.get_ident()] + 1)
    assert (calls.lost, calls.unexcused) == (2, 1)


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
