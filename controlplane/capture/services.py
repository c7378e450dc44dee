"""Taking captured data from nodes, keeping statistics of it, and letting it go.

A node is believed nothing: neither whose data it sends, nor how much of it there is, nor that it is
data at all. What it sends is bounded by what the deployment keeps.
"""

import hashlib
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from controlplane.capture import selectors
from controlplane.capture.errors import (
    CapturedDataInvalid,
    CapturedFileNotFound,
    CapturedRequestNotFound,
    CaptureRefused,
)
from controlplane.capture.models import CapturedFile, CaptureHour
from controlplane.capture.replay import record_of
from controlplane.core import events
from controlplane.core.errors import DiskFull, PayloadTooLarge, RateLimited
from controlplane.core.jobs import enqueue_on_commit
from controlplane.core.models import Event
from controlplane.deployments.capturing import Capture, capture_from_json
from controlplane.deployments.models import Deployment, Replica
from controlplane.drift import Malformed, Summary, merged_summaries, summarised
from controlplane.nodes.models import Node
from controlplane.registry.stores import blob_store
from controlplane.registry.stores.disk import room_bytes

logger = logging.getLogger(__name__)

FILE_BYTES: Final = 4 * 2**20
NAME: Final = re.compile(r"(\d{1,15})-(\d{1,15})-(\d{1,9})-(\d{1,12})\.jsonl", re.ASCII)
MOST_FILES: Final = 20_000  # of one deployment
MOST_WAITING: Final = 200  # of one deployment, for their statistics
MOST_AT_ONCE: Final = 200  # files that one job reads
HOURS_KEPT: Final = timedelta(hours=selectors.LONGEST_HOURS + 1)
_draws = Random()  # noqa: S311 # a sample, no secret
OLDEST: Final = timedelta(days=7)  # captured so long ago, as a node that was away tells


def captured_receive(
    *,
    node: Node,
    replica: str,
    name: str,
    endpoint: str,
    deployment: str,
    content: bytes,
    now: datetime,
) -> None:
    """Keep a file that a node sends; twice does no harm.

    Raises CapturedDataInvalid, CaptureRefused, PayloadTooLarge, RateLimited, DiskFull.
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise CapturedDataInvalid(
            f"name: {name[:80]!r}, expected <first>-<last>-<records>-<dropped>.jsonl.", field="name"
        )
    if not content or len(content) > FILE_BYTES:
        raise PayloadTooLarge(f"{len(content)} bytes, expected 1 to {FILE_BYTES}.")
    row, capture = _owner(node, replica, endpoint, deployment)
    key = hashlib.sha256(f"{replica}/{name}".encode()).hexdigest()[:32]
    if CapturedFile.objects.filter(pk=key).exists():
        return
    waiting = CapturedFile.objects.filter(deployment=row, summarised_at=None).count()
    if waiting >= MOST_WAITING:
        raise RateLimited(
            f"{waiting} files of {row} wait for their statistics.", extra={"retry_after_s": 30}
        )
    if room_bytes(Path(settings.SHOAL_BLOB_DIR)) < len(content):
        raise DiskFull("There is no room for captured data.")
    first_at, last_at = _moments(found, now)
    with transaction.atomic():
        values = {
            "deployment": row,
            "replica": replica,
            "size": len(content),
            "records": content.count(b"\n"),
            "dropped": int(found[4]),
            "first_at": first_at,
            "last_at": last_at,
            "expires_at": now + timedelta(days=capture.keep_days),
        }
        _, new = CapturedFile.objects.get_or_create(id=key, defaults=values)
        if not new:  # sent again while it was being taken
            return
        _store(key, content)
        enqueue_on_commit("capture.summarise", queue="ingest", expires_s=15)
    _keep_within(row, capture.keep_bytes)


def _owner(node: Node, replica: str, endpoint: str, deployment: str) -> tuple[Deployment, Capture]:
    """Raises CaptureRefused: one answer for all that is none of this node's business."""
    row = Deployment.objects.filter(endpoint__name=endpoint, name=deployment).first()
    if row is not None:
        running = Replica.objects.filter(pk=replica).select_related("revision").first()
        if running is not None:
            own = running.deployment_id == row.pk and running.node_id == node.pk
            kept = running.revision.settings.capture if own else None
        else:
            kept = _once(node, replica, row)
        if kept is not None:
            return row, capture_from_json(kept)
    raise CaptureRefused(f"Of {replica[:40]!r} this node captures nothing.")


def _once(node: Node, replica: str, row: Deployment) -> dict[str, object] | None:
    """Last words of a replica whose row is gone: the event log knows where it was placed. Not
    before there was this deployment: another project may have had one of its name."""
    placed = Event.objects.filter(
        verb="replica.placed",
        subject=f"endpoint/{row.endpoint.name}",
        at__gte=row.created_at,
        data__node=node.pk,
        data__replica=replica,
        data__deployment=row.name,
    )
    if not placed.exists():
        return None
    revisions = row.revisions.exclude(spec__capture=None).order_by("-number")
    return next((one.settings.capture for one in revisions if one.settings.capture), None)


def _moments(found: re.Match[str], now: datetime) -> tuple[datetime, datetime]:
    """Clocks of nodes go as they like."""

    def moment(text: str) -> datetime:
        seconds = min(int(text) / 1000, now.timestamp())
        return max(datetime.fromtimestamp(seconds, UTC), now - OLDEST)

    first, last = sorted((moment(found[1]), moment(found[2])))
    return first, last


def blob_name(key: str) -> str:
    """Of a row, not of its content: no file of a model is ever called so, and removing one needs
    not look whether somebody else uses it."""
    return hashlib.sha256(f"captured {key}".encode()).hexdigest()


def _store(key: str, content: bytes) -> None:
    folder = Path(settings.SHOAL_UPLOAD_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=folder, prefix="captured-", delete=False) as file:
        path = Path(file.name)
        file.write(content)
    try:
        blob_store().put(path, blob_name(key))
    finally:
        path.unlink(missing_ok=True)


def _keep_within(row: Deployment, most_bytes: int) -> None:
    """The oldest go first."""
    files = CapturedFile.objects.filter(deployment=row)
    used = files.aggregate(bytes=Sum("size", default=0))["bytes"]
    spare = files.count() - MOST_FILES
    if used <= most_bytes and spare <= 0:
        return
    for file in files.order_by("last_at").iterator(chunk_size=100):
        if used <= most_bytes and spare <= 0:
            return
        _remove(file)
        used -= file.size
        spare -= 1


def _remove(file: CapturedFile) -> None:
    # why the bytes first: a row without them is told and tried again, bytes without a row never
    blob_store().remove(blob_name(file.pk))
    file.delete()


def captured_expire(*, now: datetime) -> int:
    """Remove what is too old, or of what is gone. Returns how many files."""
    removed = 0
    for rows in (
        CapturedFile.objects.filter(expires_at__lt=now),
        CapturedFile.objects.filter(deployment=None),
    ):
        for file in rows.iterator(chunk_size=100):
            _remove(file)
            removed += 1
    CaptureHour.objects.filter(hour__lt=now - HOURS_KEPT).delete()
    return removed


def captured_summarise(*, now: datetime) -> int:
    """Add what is new to the statistics of its hour. Returns how many files were read."""
    rows = CapturedFile.objects.filter(summarised_at=None).exclude(deployment=None)
    done = 0
    for file in list(rows.order_by("created_at")[:MOST_AT_ONCE]):
        try:
            _summarise(file, now)
        except FileNotFoundError:
            logger.warning("The bytes of the captured file %s are gone", file.pk)
            file.delete()
        done += 1
    return done


def _summarise(file: CapturedFile, now: datetime) -> None:
    with blob_store().open(blob_name(file.pk)) as content:
        lines = content.read(FILE_BYTES + 1).splitlines()
    try:
        found = summarised(lines, _draws)
    except Malformed as error:
        _refuse(file, str(error))
        return
    with transaction.atomic():
        # why compared: of two workers one counts it
        mine = CapturedFile.objects.filter(pk=file.pk, summarised_at=None)
        records = sum(bool(line.strip()) for line in lines)
        if not mine.update(summarised_at=now, records=records):
            return
        hour, _ = CaptureHour.objects.get_or_create(
            deployment=file.deployment,
            hour=selectors.hour_for(file),
            defaults={"content": _empty()},
        )
        hour = CaptureHour.objects.select_for_update().get(pk=hour.pk)
        hour.summary = merged_summaries([hour.summary, found])
        hour.dropped += file.dropped
        hour.save()


def _empty() -> bytes:
    empty = CaptureHour()
    empty.summary = Summary(0, {})
    return bytes(empty.content)


def _refuse(file: CapturedFile, why: str) -> None:
    deployment = file.deployment
    _remove(file)
    if deployment is not None:
        events.record(
            actor="system",
            verb="capture.refused",
            subject=f"endpoint/{deployment.endpoint.name}",
            severity=Event.Severity.WARNING,
            message=f"A file that replica {file.replica} of {deployment.name} captured cannot be "
            f"read and was removed: {why}",
            data={"deployment": deployment.name, "replica": file.replica},
        )


def captured_open(*, deployment: Deployment, file_id: str, actor: str) -> CapturedFile:
    """A file that somebody is about to read, on record. Raises CapturedFileNotFound."""
    row = selectors.captured_get(deployment, file_id)
    if blob_store().size(blob_name(row.pk)) is None:  # of an installation that was restored
        raise CapturedFileNotFound(f"The bytes of the captured file {row.pk} are gone.")
    events.record(
        actor=actor,
        verb="capture.downloaded",
        subject=f"endpoint/{deployment.endpoint.name}",
        message=f"{row.records} captured requests of {deployment.name} were downloaded",
        data={"deployment": deployment.name, "file": row.pk, "records": row.records},
    )
    return row


def captured_newest(
    *, deployment: Deployment, since: datetime, most_bytes: int
) -> Iterator[tuple[str, list[bytes]]]:
    """Files of this deployment alone, the newest first, each with its lines. Of installations that
    were restored the bytes may be gone."""
    rows = selectors.captured_list(deployment).filter(last_at__gte=since)
    for row in rows.order_by("-last_at", "id").iterator(chunk_size=20):
        if row.size > most_bytes:
            return
        most_bytes -= row.size
        try:
            with blob_store().open(blob_name(row.pk)) as content:
                lines = content.read(FILE_BYTES + 1).splitlines()
        except FileNotFoundError:
            continue
        yield row.pk, lines


def captured_request_open(
    *, deployment: Deployment, request_id: str, at: datetime, actor: str
) -> dict[str, Any]:
    """What a client sent with this x-request-id about then, as captured, on record.

    Raises CapturedRequestNotFound.
    """
    for file in selectors.captured_about(deployment, at):
        if blob_store().size(blob_name(file.pk)) is None:
            continue
        with blob_store().open(blob_name(file.pk)) as content:
            found = record_of(content, request_id, at.timestamp())
        if found is None:
            continue
        events.record(
            actor=actor,
            verb="capture.downloaded",
            subject=f"endpoint/{deployment.endpoint.name}",
            message=f"A captured request of {deployment.name} was opened",
            data={"deployment": deployment.name, "file": file.pk, "records": 1},
        )
        return found
    raise CapturedRequestNotFound(
        f"No captured data of {deployment.name} has a request {request_id[:64]!r}."
    )
