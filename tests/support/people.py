"""People and clients for tests of the control plane; stores in a folder of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.accounts.services import token_create

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def stores(settings: Settings, tmp_path: Path) -> Path:
    settings.SHOAL_UPLOAD_DIR = tmp_path / "uploads"
    settings.SHOAL_BLOB_DIR = tmp_path / "blobs"
    return tmp_path


def make_user(name: str, role: str) -> User:
    return User.objects.create_user(username=name, password=PASSWORD, role=role)


@pytest.fixture
def viewer(db: None) -> User:
    return make_user("vera", User.Role.VIEWER)


@pytest.fixture
def deployer(db: None) -> User:
    return make_user("dora", User.Role.DEPLOYER)


@pytest.fixture
def operator(db: None) -> User:
    return make_user("otto", User.Role.OPERATOR)


@pytest.fixture
def admin(db: None) -> User:
    return make_user("ada", User.Role.ADMIN)


@pytest.fixture
def client_of() -> Callable[[User], APIClient]:
    """A REST client that sends a real API token of the user."""

    def build(user: User) -> APIClient:
        _, clear = token_create(user=user, name="test", actor=user.username)
        client = APIClient()
        client.default_format = "json"
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
        return client

    return build


@pytest.fixture
def api(deployer: User, client_of: Callable[[User], APIClient]) -> APIClient:
    """A REST client with the role that most tests need: deployer."""
    return client_of(deployer)


@pytest.fixture
def admin_api(admin: User, client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(admin)


@pytest.fixture
def operator_api(operator: User, client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(operator)


@pytest.fixture
def viewer_api(viewer: User, client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(viewer)
