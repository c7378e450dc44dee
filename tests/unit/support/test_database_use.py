"""The PostgreSQL share of `make test` leaves out what can make no query, and nothing else."""

import subprocess
import sys

import pytest
from django.contrib.auth import get_user_model

from tests.support.database_use import uses_database


@pytest.fixture
def people(db: None) -> int:
    return get_user_model().objects.count()


def test_no_query_comes_through_without_a_mark_or_a_fixture(request: pytest.FixtureRequest) -> None:
    assert not uses_database(request.node)
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        get_user_model().objects.count()


@pytest.mark.django_db
def test_a_mark_counts(request: pytest.FixtureRequest) -> None:
    assert uses_database(request.node)


def test_a_fixture_of_a_fixture_counts(people: int, request: pytest.FixtureRequest) -> None:
    assert uses_database(request.node)
    assert people == 0


@pytest.mark.parametrize(("options", "left"), [([], 2), (["--only-database"], 1)])
def test_the_option_leaves_out_the_others(options: list[str], left: int) -> None:
    pytest_, asked = [sys.executable, "-m", "pytest"], ["--collect-only", "-q", "-n", "0"]
    names = ["test_a_mark_counts", "test_no_query_comes_through_without_a_mark_or_a_fixture"]
    done = subprocess.run(
        [*pytest_, *asked, *options, *(f"{__file__}::{name}" for name in names)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("::test_") == left
