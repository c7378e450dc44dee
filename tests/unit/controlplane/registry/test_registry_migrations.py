"""What an older version of Shoal kept is still there after the upgrade."""

from django.db import connection
from django.utils import timezone

from controlplane.accounts.models import User
from tests.support.migrations import Migrate

DRAFTS = "drafts_draft"


def test_drafts_of_the_time_when_they_were_an_app_are_kept(
    migrate: Migrate, deployer: User
) -> None:
    migrate("registry", "0007_signatures")
    now = timezone.now()
    with connection.cursor() as cursor:
        assert DRAFTS in connection.introspection.table_names(cursor)
        cursor.execute(
            f"INSERT INTO {DRAFTS} (created_at, updated_at, id, title, upload_id, data, revision,"
            " owner_id) VALUES (%s, %s, 'd1', 'digits', 'u1', %s, 3, %s)",
            [now, now, '{"endpoint": "digits"}', deployer.pk],
        )
    apps = migrate("registry", "0008_drafts")
    (kept,) = apps.get_model("registry", "Draft").objects.all()
    assert (kept.pk, kept.title, kept.upload_id, kept.revision) == ("d1", "digits", "u1", 3)
    assert (kept.data, kept.owner_id) == ({"endpoint": "digits"}, deployer.pk)


def test_an_installation_from_before_drafts_gets_their_table(migrate: Migrate) -> None:
    migrate("registry", "0007_signatures")
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {DRAFTS}")
    apps = migrate("registry", "0008_drafts")
    assert not apps.get_model("registry", "Draft").objects.exists()
