"""What integration tests of the control plane share: people, and real processes."""

from collections.abc import Iterator

import pytest

from tests.support.installation import Installation
from tests.support.people import (  # noqa: F401 - fixtures
    admin,
    admin_api,
    api,
    client_of,
    deployer,
    stores,
    viewer,
    viewer_api,
)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Redis, a migrated database and an administrator; no web process yet."""
    found = Installation(tmp_path_factory.mktemp("installation") / "home")
    try:
        found.prepare()
        yield found
    finally:
        found.stop()


@pytest.fixture
def installation(prepared: Installation) -> Iterator[Installation]:
    """The same, with a web process and a worker that is running when the test begins."""
    for name, start in (("web", prepared.start_web), ("worker", prepared.start_worker)):
        if not prepared.is_running(name):
            start()
    yield prepared
