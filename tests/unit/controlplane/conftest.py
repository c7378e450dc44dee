"""What all tests of the control plane share."""

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
