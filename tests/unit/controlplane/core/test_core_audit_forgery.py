"""Somebody who writes to the database, and not to the anchors: what they try is found and named."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from controlplane.core import audit, events, seals
from controlplane.core.models import AuditHead, Event
from tests.support.audit_log import (
    LONG,
    NO_TIME,
    Rows,
    end_set_at_each_update,
    forge,
    happen,
    only_sqlite,
    put_back,
    snapshot,
    spoil,
    spoil_event,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("anchored")]


def slip_in() -> None:
    happen()
    forge()


def delete_everything() -> None:
    happen()
    Event.objects.all().delete()
    AuditHead.objects.all().delete()


def cut_with_an_older_end() -> None:
    happen()
    older = list(AuditHead.objects.values())
    happen()
    Event.objects.filter(link__gt=3).delete()
    AuditHead.objects.update(**older[0])


# And what else there is.


def delete_everything_and_begin_anew() -> None:
    """The end as it was before the first event: whoever saw the installation early has it."""
    first = snapshot()
    happen()
    put_back(first)


def put_an_older_database_back_and_go_on() -> None:
    happen()
    older = snapshot()
    happen(5)
    put_back(older)
    happen(9, actor="eve")


def only_the_end_is_older() -> None:
    happen()
    older = list(AuditHead.objects.values())
    happen()
    AuditHead.objects.update(**older[0])


def reorder() -> None:
    one, two, _ = happen()
    Event.objects.filter(pk=one.pk).update(link=99)
    Event.objects.filter(pk=two.pk).update(link=1)
    Event.objects.filter(pk=one.pk).update(link=2)


def reorder_with_digests() -> None:
    one, two, _ = happen()
    first, second = (Event.objects.values("link", "digest").get(pk=e.pk) for e in (one, two))
    Event.objects.filter(pk=one.pk).update(link=99)
    Event.objects.filter(pk=two.pk).update(**first)
    Event.objects.filter(pk=one.pk).update(**second)


def copy_a_genuine_event() -> None:
    one, *_ = happen()
    copied = Event.objects.get(pk=one.pk)
    forge(
        **{name: getattr(copied, name) for name in ("at", "actor", "subject", "message", "data")},
        mac=copied.mac,
    )


def lend_a_genuine_mac() -> None:
    one, *_ = happen()
    forge(mac=Event.objects.get(pk=one.pk).mac)


def swap_the_actor_before_sealing() -> None:
    happen()
    made = events.record(actor="eve", verb="x", subject="x", message="m")
    Event.objects.filter(pk=made.pk).update(actor="dana")


def swap_the_actor() -> None:
    Event.objects.filter(pk=happen()[1].pk).update(actor="somebody")


def move_the_clock_before_sealing() -> None:
    made = events.record(actor="eve", verb="x", subject="x", message="m")
    Event.objects.filter(pk=made.pk).update(at=made.at - timedelta(days=1))


def truncate_and_write_again() -> None:
    rows = [row for row in list_after(happen()) if row["link"] <= 2]
    Event.objects.all().delete()
    Event.objects.bulk_create([Event(**row) for row in rows])


def list_after(made: list[Event]) -> Rows:
    del made
    return list(Event.objects.order_by("link").values())


def second_end() -> None:
    happen()
    head = AuditHead.objects.get()
    head.pk = 2
    head.save(force_insert=True)


def hide_behind_a_huge_link() -> None:
    happen()
    forge(link=2**63 - 1, digest="f" * 64)


def hide_below_the_first_link() -> None:
    happen()
    forge(link=-1, digest="f" * 64)


def hide_beyond_the_end() -> None:
    happen()
    forge(link=50, digest="f" * 64)


def many_forged_to_starve_the_sealing() -> None:
    happen()
    Event.objects.bulk_create(
        [Event(actor="e", verb="v", subject="s", message="m") for _ in range(audit.BATCH + 1)]
    )


def claim_to_be_from_before() -> None:
    happen()
    AuditHead.objects.update(boundary=1000)
    forge()


def take_the_macs_away() -> None:
    happen()
    Event.objects.update(mac="")


def drop_the_end_and_seal_by_hand() -> None:
    made = happen()
    AuditHead.objects.all().delete()
    Event.objects.filter(pk=made[2].pk).delete()


def put_off_the_anchors() -> None:
    happen()
    AuditHead.objects.update(anchored_at=timezone.now() + timedelta(days=365))


def change_the_end_between_two_looks() -> None:
    happen()
    head = AuditHead.objects.get()
    with end_set_at_each_update("boundary", "1000000"):
        happen()
    assert AuditHead.objects.get().boundary != head.boundary
    forge()


def regret() -> Event:
    """What is not sealed can be removed unseen: so let nothing be sealed."""
    regretted = events.record(actor="eve", verb="x.done", subject="x", message="she did it")
    audit.seal()
    return regretted


def stop_the_sealing_and_remove() -> None:
    happen()
    stopper = forge()
    spoil_event(stopper.seq, "data", f'{{"n": {LONG}}}')
    regretted = regret()
    stopper.delete()
    regretted.delete()


def stop_the_sealing_by_the_end_and_remove() -> None:
    happen()
    genuine = AuditHead.objects.values().get()
    spoil("core_audithead", "anchored_at", f"'{NO_TIME[connection.vendor]}'")
    regret().delete()
    AuditHead.objects.update(**genuine)


def stop_the_sealing_by_an_end_that_is_no_text() -> None:
    only_sqlite("a character column holds characters only")
    happen()
    spoil("core_audithead", "mac", "x'ff'")
    regret()


def stop_the_sealing_by_an_end_that_is_no_number() -> None:
    only_sqlite("a bigint column holds whole numbers only")
    happen()
    spoil("core_audithead", "link", "CAST(x'ff' AS TEXT)")
    regret()


def make_the_end_unreadable_between_two_looks() -> None:
    happen()
    with end_set_at_each_update("anchored_at", f"'{NO_TIME[connection.vendor]}'"):
        regret()


def make_the_end_unreadable_for_good() -> None:
    happen()
    with end_set_at_each_update("anchored_at", f"'{NO_TIME[connection.vendor]}'"):
        regret()
        found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == "changed"


def stop_the_sealing_by_a_digest_beyond_the_end() -> None:
    only_sqlite("a character column holds characters only")
    happen()
    made = forge(link=5)
    spoil("core_event", "digest", "x'ff'", f"WHERE seq = {made.seq}")
    regret()


def stop_the_sealing_by_the_digest_to_go_on_from() -> None:
    only_sqlite("a character column holds characters only")
    *_, three = happen()
    genuine = Event.objects.values("digest").get(pk=three.pk), AuditHead.objects.values().get()
    spoil("core_event", "digest", "CAST(x'ff' AS TEXT)", f"WHERE seq = {three.seq}")
    AuditHead.objects.update(mac="", link=100)
    regret().delete()
    Event.objects.filter(pk=three.pk).update(**genuine[0])
    AuditHead.objects.update(**genuine[1])


def stop_the_sealing_from_beyond_the_end() -> None:
    happen()
    spoil_event(forge(link=5, digest="0" * 64).seq, "data", f'{{"n": {LONG}}}')


def stop_the_sealing_by_a_time() -> None:
    happen()
    spoil_event(forge().seq, "at", NO_TIME[connection.vendor])


def stop_the_sealing_by_a_number() -> None:
    happen()
    spoil_event(forge().seq, "data", f'{{"n": {"9" * 400}}}')


def make_a_sealed_one_unreadable() -> None:
    _, two, _ = happen()
    spoil_event(two.seq, "data", f'{{"n": {LONG}}}')


def make_a_sealed_one_unreadable_by_its_time() -> None:
    one, *_ = happen()
    spoil_event(one.seq, "at", NO_TIME[connection.vendor])


@pytest.mark.parametrize(
    ("tamper", "kind", "link"),
    [
        (change_the_end_between_two_looks, "changed", 7),
        (stop_the_sealing_and_remove, "removed", 4),
        (stop_the_sealing_from_beyond_the_end, "forged", 4),
        (stop_the_sealing_by_a_time, "forged", 4),
        (stop_the_sealing_by_a_number, "changed", 4),
        (stop_the_sealing_by_the_end_and_remove, "changed", 4),
        (stop_the_sealing_by_an_end_that_is_no_text, "changed", 5),
        (stop_the_sealing_by_an_end_that_is_no_number, "changed", 5),
        (make_the_end_unreadable_between_two_looks, "changed", 5),
        (make_the_end_unreadable_for_good, "changed", 5),
        (stop_the_sealing_by_a_digest_beyond_the_end, "forged", 4),
        (stop_the_sealing_by_the_digest_to_go_on_from, "changed", 3),
        (make_a_sealed_one_unreadable, "changed", 1),
        (make_a_sealed_one_unreadable_by_its_time, "changed", 1),
        (slip_in, "forged", 4),
        (delete_everything, "removed", 1),
        (cut_with_an_older_end, "rewound", 4),
        (delete_everything_and_begin_anew, "rewound", 1),
        (put_an_older_database_back_and_go_on, "rewound", 8),
        (only_the_end_is_older, "rewound", 7),
        (reorder, "changed", 1),
        (reorder_with_digests, "changed", 1),
        (copy_a_genuine_event, "forged", 4),
        (lend_a_genuine_mac, "forged", 4),
        (swap_the_actor_before_sealing, "forged", 4),
        (swap_the_actor, "changed", 2),
        (move_the_clock_before_sealing, "forged", 1),
        (truncate_and_write_again, "removed", 3),
        (second_end, "forged", 3),
        (hide_behind_a_huge_link, "forged", 4),
        (hide_below_the_first_link, "forged", 1),
        (hide_beyond_the_end, "forged", 4),
        (many_forged_to_starve_the_sealing, "forged", 4),
        (claim_to_be_from_before, "forged", 4),
        (take_the_macs_away, "changed", 1),
        (drop_the_end_and_seal_by_hand, "removed", 3),
        (put_off_the_anchors, "changed", 4),
    ],
)
def test_a_forgery_is_found_and_named(tamper: Callable[[], None], kind: str, link: int) -> None:
    tamper()
    found = audit.verify()
    assert found.broken is not None
    assert (found.broken.kind, found.broken.link) == (kind, link), found.broken.reason
    assert found.unsealed == 0
    for _ in range(8):  # it stays, although anchors go on as well
        happen(1)
        found = audit.verify()
        assert found.broken is not None
        assert found.broken.kind == kind


def test_a_genuine_log_holds_whatever_clocks_do() -> None:
    happen()
    for index, back in enumerate((0, 3600, -86400)):
        event = Event(actor="d", verb="v", subject="s", message=str(index), data={})
        event.at = timezone.now() - timedelta(seconds=back)
        event.mac = seals.event_mac(event)
        event.save(force_insert=True)
    found = audit.verify()
    assert (found.broken, found.sealed) == (None, 6)


@pytest.mark.parametrize(
    "data",
    [
        {"a": [1, 1.0, -0.0, 1e16, 1e20, 1e23, 2**60, 1e-7, 0.1, True, None]},
        {"ü€": "\u2028 \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")},
        {"nested": {"b": {"z": 1, "a": [{}, []]}}},
        {10: "ten", 9: "nine"},
        {"tuple": (1, 2)},
    ],
)
def test_what_an_event_carries_survives_the_database(data: dict[Any, Any]) -> None:
    events.record(actor="ä", verb="x", subject="s", message="m\n", data=data)
    assert audit.verify().broken is None


@pytest.mark.django_db(transaction=True)
def test_sealing_at_once_forks_nothing() -> None:
    def work(index: int) -> None:
        try:
            for _ in range(3):
                happen(2, actor=f"dana-{index}")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    found = audit.verify()
    assert (found.broken, found.sealed) == (None, 24)
