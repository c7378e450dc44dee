"""A provider for tests of signing in, and a browser that goes through it."""

from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django import Settings

from controlplane.accounts.providers import OidcProvider, role_rules_read
from tests.support.oidc_provider import Provider, running

HOST = "127.0.0.1:8080"


@pytest.fixture(scope="session")
def provider_process() -> Iterator[Provider]:
    with running() as provider:
        yield provider


@pytest.fixture
def provider(provider_process: Provider, settings: Settings) -> Iterator[Provider]:
    provider_process.lie, provider_process.discovery = None, {}
    settings.SHOAL_PUBLIC_URL = f"http://{HOST}"
    settings.SHOAL_OIDC = OidcProvider(
        issuer=provider_process.issuer,
        client_id="studio",
        client_secret="of the studio",
        name="Corp",
        roles=role_rules_read("ops=operator;admins=admin;cn=ml,dc=corp=deployer"),
    )
    yield provider_process
    provider_process.lie = None


class Browser(Client):
    """Signs in as people do: the button, the provider's page, and back."""

    def __init__(self) -> None:
        super().__init__(enforce_csrf_checks=True, headers={"host": HOST})

    def arrive(self, provider: Provider, subject: str, *, wanted: str = "/") -> str:
        """Where the browser ends up, as a path."""
        back = provider.consent(self.begin(wanted), subject)
        return self.come_back(back)

    def begin(self, wanted: str = "/") -> str:
        answer = self.get("/oidc/login", {"next": wanted})
        assert answer.status_code == 302, answer
        return str(answer["Location"])

    def come_back(self, url: str) -> str:
        answer = self.get(url.removeprefix(f"http://{HOST}"))
        assert answer.status_code == 302, answer
        return str(answer["Location"])

    def me(self) -> dict[str, object] | None:
        user: dict[str, object] | None = self.get("/api/v1/session").json()["user"]
        return user


@pytest.fixture
def browser(db: None) -> Browser:
    return Browser()
