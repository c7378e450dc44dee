"""Sending one message to one channel, over HTTP or by mail. Nothing of rows is changed here."""

import smtplib
import ssl
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage

from controlplane.alerts.messages import (
    ALERTMANAGER_PATH,
    DELIVERY_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    Message,
    body,
    headline,
    signature,
    text,
)
from controlplane.alerts.models import Channel
from controlplane.alerts.types import ChannelKind
from controlplane.core import vault
from controlplane.core.addresses import AddressRefused, Allowed, target
from controlplane.core.trust import trusted

URL_PURPOSE: Final = "shoal alert channel url"
SECRET_PURPOSE: Final = "shoal alert channel secret"  # noqa: S105 - names a key
TIMEOUT_S: Final = 5.0
MOST_READ: Final = 500  # bytes of an answer that refuses, for its log


@dataclass(frozen=True, slots=True)
class Sent:
    status: int | None  # of HTTP


class SendFailed(Exception):
    """``message`` is for people; it names no URL, which may hold a secret."""

    def __init__(self, message: str, sent: Sent | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.sent = sent


def target_of(path: str) -> str:
    return f"{settings.SHOAL_PUBLIC_URL.rstrip('/')}{path}"


def send(channel: Channel, message: Message, delivery: str, now: datetime) -> Sent:
    """Raises SendFailed."""
    if channel.kind == ChannelKind.EMAIL:
        return _mail(channel, message)
    try:
        url = vault.unseal(URL_PURPOSE, channel.url)
        secret = vault.unseal(SECRET_PURPOSE, channel.secret) if channel.secret else ""
    except vault.InvalidToken as error:
        raise SendFailed(
            "URL and secret were sealed with another SHOAL_SECRET_KEY: set them again."
        ) from error
    content = body(channel.kind, message, delivery, now)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"Shoal/{settings.SHOAL_VERSION}",
        DELIVERY_HEADER: delivery,
    }
    if secret:
        timestamp = int(now.timestamp())
        headers[TIMESTAMP_HEADER] = str(timestamp)
        headers[SIGNATURE_HEADER] = signature(secret, timestamp, content)
    if channel.kind == ChannelKind.ALERTMANAGER and not url.endswith(ALERTMANAGER_PATH):
        url = url.rstrip("/") + ALERTMANAGER_PATH
    return _post(url, content, headers)


def _post(url: str, content: bytes, headers: dict[str, str]) -> Sent:
    import httpx  # noqa: PLC0415 - half a second of imports, for who has a channel

    try:
        where = target(url, Allowed("SHOAL_ALERT_NETWORKS", settings.SHOAL_ALERT_NETWORKS))
    except AddressRefused as error:
        raise SendFailed(str(error)) from error
    # why no environment: a proxy of it would look the name up once more
    with httpx.Client(
        timeout=TIMEOUT_S, follow_redirects=False, trust_env=False, verify=trusted()
    ) as client:
        try:
            with client.stream(
                "POST",
                where.url,
                content=content,
                headers={**headers, "Host": where.authority},
                extensions={"sni_hostname": where.host},
            ) as answer:
                if answer.is_success:
                    return Sent(answer.status_code)
                told = next(answer.iter_bytes(MOST_READ), b"").decode("utf-8", "replace")
                raise SendFailed(_refused(answer.status_code, told), Sent(answer.status_code))
        except (httpx.HTTPError, ssl.SSLError) as error:
            said = str(error) or type(error).__name__
            raise SendFailed(f"{where.host} did not answer: {said}") from error


def _refused(status: int, told: str) -> str:
    if 300 <= status < 400:
        return f"It answered {status}: redirects are not followed. Give the URL where it leads."
    return f"It answered {status}. {' '.join(told.split())}".rstrip()


def _mail(channel: Channel, message: Message) -> Sent:
    if not settings.EMAIL_HOST:
        raise SendFailed("No mail server is set: SHOAL_EMAIL_HOST.")
    mail = EmailMessage(
        subject=f"[Shoal] {headline(message)}"[:200].replace("\n", " "),
        body=text(message),
        to=list(channel.recipients),
    )
    try:
        mail.send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise SendFailed(f"The mail server did not take it: {error}") from error
    return Sent(None)
