"""What a support bundle tells of settings and databases: by a list of what holds no secret."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from controlplane.config.shown_settings import ADDRESSES, KEPT_BACK, PLAIN, settings_shown

PATH = "/api/v1/system/support"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("SHOAL_SANDBOX", "require", "require"),
        ("SHOAL_SECRET_KEY", "s3cret", KEPT_BACK),
        ("SHOAL_EMAIL_PASSWORD", "s3cret", KEPT_BACK),
        ("SHOAL_OIDC_CLIENT_SECRET_FILE", "/run/s3cret", KEPT_BACK),
        ("SHOAL_A_SETTING_OF_TOMORROW", "s3cret", KEPT_BACK),
        ("AWS_SECRET_ACCESS_KEY", "s3cret", KEPT_BACK),
        ("PGPASSWORD", "s3cret", KEPT_BACK),
        ("SHOAL_DATABASE_URL", "postgresql://me:s3cret@db:5432/shoal", "postgresql://db:5432"),
        ("SHOAL_DATABASE_URL", "postgresql://me:s3/cret@db/shoal", KEPT_BACK),
        ("SHOAL_REDIS_URL", "redis://:s3cret@redis:6379/0", "redis://redis:6379"),
        ("SHOAL_DATABASE_URL", "postgresql://me:12#s3cret@db/shoal", KEPT_BACK),
        ("SHOAL_DATABASE_URL", "postgresql://me:[12@db/shoal", KEPT_BACK),
        ("SHOAL_BLOB_URL", "s3://models/a?endpoint=http://me:s3cret@minio", KEPT_BACK),
        ("SHOAL_BLOB_URL", "s3://models/a?endpoint=http://minio:9000", "s3://models"),
        ("SHOAL_PUBLIC_URL", "https://shoal.test/?token=s3cret", "https://shoal.test"),
    ],
)
def test_settings_are_shown_by_a_list(name: str, value: str, shown: str) -> None:
    assert settings_shown({name: value, "SHOAL_EMPTY": ""}) == {name: shown}


def test_the_list_has_nothing_that_is_called_a_secret() -> None:
    words = ("PASSWORD", "SECRET", "TOKEN", "KEY", "USER", "HEADER", "PROXY", "WEBHOOK")
    # how long a token lives, and whether there are passwords
    harmless = {"SHOAL_PASSWORDS", "SHOAL_SERVICE_TOKEN_DAYS", "SHOAL_SERVICE_TOKEN_MAX_DAYS"}
    named = {name for name in (*PLAIN, *ADDRESSES) if any(word in name for word in words)}
    assert named == harmless


@pytest.mark.django_db(databases=["default", "metrics"])
def test_tables_and_migrations_are_told_to_administrators(
    admin_api: APIClient, viewer_api: APIClient
) -> None:
    assert viewer_api.get(PATH).status_code == 403
    facts = admin_api.get(PATH).json()
    for database in facts["databases"].values():
        assert {"accounts_user", "metrics_logline"} & {one["name"] for one in database["tables"]}
        assert any(one.startswith("accounts.0001") for one in database["migrations"])
    assert facts["process"]["memory_bytes"] > 0
    out = StringIO()
    call_command("support_facts", stdout=out)
    assert json.loads(out.getvalue())["databases"].keys() == facts["databases"].keys()
