"""Keyed hashes of the event log: of each event as it is written, of its place in the chain, of the
chain's end, of archives of events, and of the anchors that are kept outside the database.

Keyed, so that who can write to the database, or to the file, cannot make them fit again.
"""

import hashlib
import hmac
import json
import secrets
from datetime import UTC
from typing import Any, Final

from controlplane.core import vault
from controlplane.core.models import AuditHead, Event, EventArchive

CHAIN: Final = "shoal audit chain"
EVENT: Final = "shoal audit event"
HEAD: Final = "shoal audit head"
ANCHOR: Final = "shoal audit anchor"
ARCHIVE: Final = "shoal audit archive"
NONCE_CHARS: Final = 16
EXACT: Final = 2**53  # beyond, a float is not one whole number any more


def keyed(purpose: str, parts: Any) -> str:
    """HMAC-SHA256 over canonical JSON; hexadecimal."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hmac.new(vault.derived(purpose), text.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    # why replaced: what others wrote may hold halves of characters, which are nobody's hash
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def event_mac(event: Event) -> str:
    """For an event that is about to be written; the nonce before it makes each one unique."""
    nonce = secrets.token_hex(NONCE_CHARS // 2)
    return nonce + _event_mac(nonce, event)


def event_fits(event: Event) -> bool:
    """Whether it is as it was written, whatever place it has by now."""
    nonce = event.mac[:NONCE_CHARS]
    return same(event.mac, nonce + _event_mac(nonce, event))


def digest_of(before: str, link: int, event: Event) -> str:
    """The hash of one event at one place of the chain."""
    parts = {"before": before, "link": link, "seq": event.seq, **_told(event), "data": event.data}
    if event.mac:  # what was sealed before there were any has none
        parts["mac"] = event.mac
    return keyed(CHAIN, parts)


def head_mac(head: AuditHead) -> str:
    """Over all that the end of the chain says of itself."""
    noted = head.anchored_at.astimezone(UTC).isoformat() if head.anchored_at else ""
    return keyed(HEAD, [head.link, head.digest, head.boundary, head.anchored, noted])


def archive_told(archive: EventArchive) -> dict[str, Any]:
    """What an archive's seal says of it."""
    return {
        "first_link": archive.first_link,
        "last_link": archive.last_link,
        "first_seq": archive.first_seq,
        "last_seq": archive.last_seq,
        "first_at": archive.first_at.astimezone(UTC).isoformat(),
        "last_at": archive.last_at.astimezone(UTC).isoformat(),
        "events": archive.events,
        "before": archive.before,
        "after": archive.after,
        "sha256": archive.content_sha256,
    }


def archive_mac(archive: EventArchive) -> str:
    """Over all that an archive's seal says."""
    return keyed(ARCHIVE, archive_told(archive))


def _event_mac(nonce: str, event: Event) -> str:
    return keyed(EVENT, {"nonce": nonce, **_told(event), "data": _plain(event.data)})


def _told(event: Event) -> dict[str, Any]:
    return {
        "at": event.at.astimezone(UTC).isoformat(),
        "actor": event.actor,
        "verb": event.verb,
        "subject": event.subject,
        "severity": str(event.severity),
        "message": event.message,
    }


def _plain(value: Any) -> Any:
    """JSON as every database gives it back: PostgreSQL writes numbers in its own way."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        return int(number) if number.is_integer() and abs(number) < EXACT else number
    return value
