"""Which tests may use a database: by pytest-django's rule no query comes through in any other."""

import pytest

# The last is an installation, whose processes use its database.
FIXTURES = {"db", "transactional_db", "prepared"}


def uses_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("django_db"):
        return True
    # why a default: only functions ask for fixtures
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
