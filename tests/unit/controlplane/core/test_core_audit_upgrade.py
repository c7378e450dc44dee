"""Logs from before events had keyed hashes: sealed once, with the boundary on record."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps

from controlplane.core import audit, seals
from controlplane.core.models import AuditHead, Event
from tests.support.audit_log import (
    forge,
    happen,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("anchored")]

upgrade = importlib.import_module("controlplane.core.migrations.0004_event_macs_and_anchors")
before = importlib.import_module("controlplane.core.migrations.0003_audit_head_mac")


def old_log(sealed: int = 2, unsealed: int = 2) -> None:
    """As it was: no event has a keyed hash, the end has one over link and digest alone."""
    happen(sealed)
    Event.objects.update(mac="", link=None)
    AuditHead.objects.all().delete()
    head = audit.begin()
    for event in Event.objects.order_by("seq"):
        head.link += 1
        head.digest = seals.digest_of(head.digest, head.link, event)
        Event.objects.filter(pk=event.pk).update(link=head.link, digest=head.digest)
    head.mac = before.mac_of(head.link, head.digest)
    head.save()
    for _ in range(unsealed):
        forge(actor="dana")


@pytest.fixture
def no_old_anchors(anchored: Path) -> Callable[[], None]:
    return lambda: anchored.unlink(missing_ok=True)


def test_what_was_before_is_sealed_once_and_the_boundary_is_on_record(
    no_old_anchors: Callable[[], None],
) -> None:
    old_log()
    no_old_anchors()
    upgrade.begin(apps, None)
    assert AuditHead.objects.get().boundary == 4
    happen(2)
    assert audit.verify().broken is None
    forge()
    found = audit.verify()
    assert found.broken is not None
    assert (found.broken.kind, found.broken.link) == ("forged", 7)


def test_an_old_log_that_lost_its_end_later_keeps_its_boundary(
    no_old_anchors: Callable[[], None],
) -> None:
    old_log()
    no_old_anchors()
    upgrade.begin(apps, None)
    happen(2)
    AuditHead.objects.all().delete()
    found = audit.verify()
    assert found.broken is not None
    assert (found.broken.kind, found.broken.link) == ("removed", 7)
    assert AuditHead.objects.get().boundary == 4


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [
        (lambda: AuditHead.objects.update(digest="f" * 64), "changed"),
        (lambda: AuditHead.objects.all().delete(), "removed"),
    ],
)
def test_an_upgrade_approves_no_end_that_was_forged_before(
    tamper: Callable[[], object], kind: str, no_old_anchors: Callable[[], None]
) -> None:
    old_log(unsealed=0)
    no_old_anchors()
    tamper()
    upgrade.begin(apps, None)
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == kind


def test_a_new_installation_has_an_end_before_its_first_event() -> None:
    AuditHead.objects.all().delete()
    upgrade.begin(apps, None)
    assert audit.verify().broken is None
