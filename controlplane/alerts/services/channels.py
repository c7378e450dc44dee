"""Channels are made, changed and removed. URL and secret are sealed, and never shown again."""

import secrets
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from controlplane.accounts.projects import project_get
from controlplane.alerts.errors import ChannelExists
from controlplane.alerts.models import Channel
from controlplane.alerts.selectors.channels import channel_get
from controlplane.alerts.services.sending import SECRET_PURPOSE, URL_PURPOSE
from controlplane.alerts.types import ChannelKind
from controlplane.core import events, vault
from controlplane.core.addresses import url_check
from controlplane.core.errors import Invalid
from controlplane.core.names import name_check

SECRET_BYTES: Final = 32
LEAST_SECRET: Final = 16
WHERE_FROM: Final = "Slack's and most others' are copied whole from their settings."
MOST_RECIPIENTS: Final = 20
SIGNED: Final = (ChannelKind.WEBHOOK,)  # the others' receivers check no signature
PLAIN: Final = ("kind", "enabled", "address", "recipients", "severities", "projects")


def channel_create(*, name: str, kind: str, actor: str, **values: Any) -> tuple[Channel, str]:
    """The channel, and the secret of its signature where we made it. Raises Invalid,
    ChannelExists."""
    name_check(name, field="name")
    row = Channel(name=name, kind=kind, created_by=actor)
    made = ""
    if kind in SIGNED and not values.get("secret"):
        made = secrets.token_urlsafe(SECRET_BYTES)
        values["secret"] = made
    _apply(row, values)
    if row.kind == ChannelKind.EMAIL and not row.recipients:
        raise Invalid("recipients: missing, expected addresses of e-mail.", field="recipients")
    if row.kind != ChannelKind.EMAIL and not row.url:
        raise Invalid("url: missing, expected https://host/path.", field="url")
    with transaction.atomic():
        if Channel.objects.filter(pk=name).exists():
            raise ChannelExists(f"There is a channel called {name} already.", field="name")
        row.save(force_insert=True)
        _record(row, "channel.created", actor, f"{actor} made the channel {name}", after=shown(row))
    return row, made


def channel_update(*, name: str, actor: str, **values: Any) -> Channel:
    """What is left out stays. Raises Invalid."""
    with transaction.atomic():
        row = channel_get(name)
        before = shown(row)
        _apply(row, values)
        row.save()
        sealed = [field for field in ("url", "secret") if field in values]
        told = f" ({', '.join(sealed)} anew)" if sealed else ""
        message = f"{actor} changed the channel {name}{told}"
        _record(row, "channel.changed", actor, message, before=before, after=shown(row))
    return row


def channel_differences(*, name: str, **values: Any) -> list[str]:
    """Which of ``url`` and ``secret`` are others than those that are kept. Raises
    ChannelNotFound."""
    row = channel_get(name)
    kept = {"url": (URL_PURPOSE, row.url), "secret": (SECRET_PURPOSE, row.secret)}
    return [field for field, value in values.items() if not _same(*kept[field], value)]


def _same(purpose: str, sealed: str, value: str) -> bool:
    if not sealed:
        return False
    try:
        return secrets.compare_digest(vault.unseal(purpose, sealed).encode(), value.encode())
    except vault.InvalidToken:  # sealed with another SHOAL_SECRET_KEY: nobody can read it any more
        return False


def channel_delete(*, name: str, actor: str) -> None:
    """With all of its deliveries."""
    with transaction.atomic():
        row = channel_get(name)
        message = f"{actor} removed the channel {name}"
        _record(row, "channel.deleted", actor, message, before=shown(row))
        row.delete()


def shown(row: Channel) -> dict[str, Any]:
    return {name: getattr(row, name) for name in PLAIN}


def _record(row: Channel, verb: str, actor: str, message: str, **changes: Any) -> None:
    subject = f"channel/{row.name}"
    events.record(actor=actor, verb=verb, subject=subject, message=message, **changes)


def _apply(row: Channel, values: dict[str, Any]) -> None:
    mail = row.kind == ChannelKind.EMAIL
    if "url" in values:
        if mail:
            raise Invalid("url: expected none for e-mail.", field="url")
        row.address = url_check(values["url"], hint=WHERE_FROM)
        row.url = vault.seal(URL_PURPOSE, values["url"])
    if "secret" in values:
        row.secret = vault.seal(SECRET_PURPOSE, _secret(row, values["secret"]))
    if "recipients" in values:
        row.recipients = _recipients(mail, values["recipients"])
    if "projects" in values:
        row.projects = [project_get(name).name for name in values["projects"]]
    for name in ("enabled", "severities"):
        if name in values:
            setattr(row, name, values[name])


def _secret(row: Channel, secret: str) -> str:
    if row.kind not in SIGNED:
        raise Invalid(
            f"secret: expected none for {row.kind}: nobody there checks a signature.",
            field="secret",
        )
    if len(secret) < LEAST_SECRET or not secret.isascii():
        raise Invalid(
            f"secret: {len(secret)} characters, expected {LEAST_SECRET} ASCII ones or more.",
            field="secret",
            hints=("Leave it out: one is made, and shown once.",),
        )
    return secret


def _recipients(mail: bool, recipients: list[str]) -> list[str]:
    if not mail and recipients:
        raise Invalid("recipients: expected none but for e-mail.", field="recipients")
    if len(recipients) > MOST_RECIPIENTS:
        raise Invalid(
            f"recipients: {len(recipients)}, expected {MOST_RECIPIENTS} at most.",
            field="recipients",
            hints=("Use the address of a group.",),
        )
    for one in recipients:
        try:
            validate_email(one)
        except ValidationError as error:
            raise Invalid(
                f"recipients: {one[:80]!r}, expected an address of e-mail.", field="recipients"
            ) from error
    return list(recipients)
