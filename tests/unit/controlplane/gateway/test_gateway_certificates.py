"""Whom the gateways' API lets in: by token, by certificate, and between two versions."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from pytest_django import Settings

from controlplane.core.certificates import request_pem
from controlplane.core.errors import Unauthenticated
from controlplane.core.models import Event
from controlplane.gateway import services
from controlplane.gateway.models import Gateway
from controlplane.gateway.services import Caller, GatewayNameTaken

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
NOW = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=2)


@pytest.fixture(autouse=True)
def _token(settings: Settings) -> None:
    settings.SHOAL_GATEWAY_TOKEN = "right"


def admitted(
    certificate: str = "", *, authorization: str = "Bearer right", enrolling: bool = False
) -> Caller:
    return services.gateway_admitted(
        authorization=authorization, certificate=certificate, enrolling=enrolling, now=NOW
    )


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer wrong", "Basic right", "right"])
@pytest.mark.parametrize("certificate", ["", "gateway/east"])
def test_without_the_token_nothing_opens(authorization: str, certificate: str) -> None:
    with pytest.raises(Unauthenticated, match="send the gateway token"):
        admitted(certificate, authorization=authorization, enrolling=True)


@pytest.mark.parametrize("certificate", ["node/1", "node/gateway/east", "east", "gateways/east"])
def test_a_certificate_of_another_kind_opens_nothing(certificate: str) -> None:
    with pytest.raises(Unauthenticated, match="not for"):
        admitted(certificate)


@pytest.mark.parametrize(
    ("rows", "enough"),
    [
        ([], True),  # the very first
        ([("old", None, NOW)], True),
        ([("east", NOW, NOW)], False),
        ([("east", NOW, NOW), ("old", None, NOW)], True),  # one is not upgraded yet
        ([("east", NOW, NOW), ("old", None, LONG_AGO)], False),  # it is gone
        ([("east", NOW, NOW), ("new", None, None)], False),  # it has only asked so far
    ],
)
def test_the_token_alone_is_enough_only_for_gateways_of_before(
    rows: list[tuple[str, datetime | None, datetime | None]], enough: bool
) -> None:
    for name, certified_at, last_seen_at in rows:
        Gateway.objects.create(name=name, certified_at=certified_at, last_seen_at=last_seen_at)
    assert admitted(enrolling=True) == Caller("")
    if enough:
        assert admitted() == Caller("")
        return
    with pytest.raises(Unauthenticated, match="prove themselves by certificates"):
        admitted()


def test_the_first_certificate_shown_is_noted_and_its_name_believed() -> None:
    Gateway.objects.create(name="east")
    assert admitted("gateway/east") == Caller("east")
    assert Gateway.objects.get().certified_at == NOW


def csr() -> str:
    return request_pem(ec.generate_private_key(ec.SECP256R1()))


def test_a_name_that_lives_is_given_to_nobody_else() -> None:
    def ask(caller: str, now: datetime) -> None:
        services.gateway_certificate(caller=Caller(caller), name="east", csr=csr(), now=now)

    ask("", NOW)
    assert Event.objects.filter(verb="gateway.enrolled", severity="info").count() == 1
    Gateway.objects.update(certified_at=NOW, last_seen_at=NOW)
    with pytest.raises(GatewayNameTaken):
        ask("", NOW)
    with pytest.raises(Unauthenticated, match="expected west"):
        ask("west", NOW)
    ask("east", NOW)  # its own renewal, without an event
    assert Event.objects.filter(verb="gateway.enrolled").count() == 1
    ask("", NOW + timedelta(minutes=1))  # it has lost its folder: told as a warning
    assert Event.objects.filter(verb="gateway.enrolled", severity="warning").count() == 1
