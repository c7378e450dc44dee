"""Knowing the control plane before it is told anything: the certificate that a join token names.

A token may end in ``.<SHA-256 of a certificate>``. The agent then asks the control plane for that
certificate over a connection that it does not trust yet, compares, and sends the token only over
one that is verified against it; so it does with everything after that.
"""

import hashlib
import ipaddress
import logging
import os
import re
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from node_agent.client import TIMEOUT, ControlError

logger = logging.getLogger(__name__)

_PINNED = re.compile(r"\.([0-9a-f]{64})\Z")
_LONGEST = 1 << 16  # bytes of a certificate


class ControlPlaneUnknown(RuntimeError):
    """Who answers is not who made the token; the text says how that was seen."""


def fingerprint_in(token: str) -> str:
    """SHA-256 of the certificate that the token names; empty when it names none."""
    found = _PINNED.search(token)
    return found.group(1) if found else ""


def context_of(pem: str) -> ssl.SSLContext:
    """Trusts this certificate, and what it signed, alone. Raises ssl.SSLError, ValueError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it need not be a root
    context.load_verify_locations(cadata=pem)
    return context


def kept(file: Path) -> ssl.SSLContext | None:
    """The trust of an earlier join; None when that named no certificate."""
    try:
        return context_of(file.read_text())
    except FileNotFoundError:
        return None
    except (ssl.SSLError, ValueError) as error:
        raise ControlPlaneUnknown(
            f"{file} is damaged ({error}). Delete it and {file.with_name('credential.json')}, "
            "and join with a new token."
        ) from error


def given(file: Path | None) -> ssl.SSLContext | None:
    """That of SHOAL_CONTROL_CA_FILE; None where it is not set. Raises ControlPlaneUnknown."""
    if file is None:
        return None
    try:
        return context_of(file.read_text())
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ControlPlaneUnknown(
            f"SHOAL_CONTROL_CA_FILE={str(file)!r}: expected a file of certificates as PEM: {error}"
        ) from error


async def establish(url: str, *, token: str, file: Path) -> ssl.SSLContext | None:
    """Verify who answers at ``url`` before the token goes there; None when it names nobody.

    Raises ControlPlaneUnknown, and ControlError while nobody answers.
    """
    wanted = fingerprint_in(token)
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
    if scheme != "https":
        _plain(url, host, pinned=bool(wanted))
        return None
    if not wanted:
        return None
    certificate = await _fetch_authority(url)
    found = hashlib.sha256(certificate).hexdigest()
    if found != wanted:
        raise ControlPlaneUnknown(
            f"Who answers at {url} has a certificate with the fingerprint {found[:16]}…, the join "
            f"token expects {wanted[:16]}…. The token was not sent. Either this is not the control "
            "plane that made the token, or its certificate has changed since: make a new token in "
            "the studio, and look at where SHOAL_CONTROL_URL leads."
        )
    # why written anew: of the text that came only these bytes were compared; more may follow
    pem = ssl.DER_cert_to_PEM_cert(certificate)
    context = context_of(pem)
    await _verified(url, context)
    _keep(file, pem)
    logger.info("%s is who made the join token: its certificate is %s…", url, wanted[:16])
    return context


def _plain(url: str, host: str, *, pinned: bool) -> None:
    if _is_loopback(host):
        return
    if pinned:
        raise ControlPlaneUnknown(
            f"SHOAL_CONTROL_URL={url} is not encrypted, but the join token names a certificate to "
            "verify. The token was not sent. Use the https address that the studio shows."
        )
    logger.warning("%s is not encrypted: whoever is in between can read the join token", url)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _fetch_authority(url: str) -> bytes:
    """The certificate (DER) that the other side says is its authority's. Nothing is sent to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # what comes is compared with the token's fingerprint
    try:
        async with httpx.AsyncClient(verify=context, trust_env=False, timeout=TIMEOUT) as client:
            answer = await client.get(f"{url}/agent/v1/ca")
    except httpx.HTTPError as error:
        raise ControlError(f"ca: {error or type(error).__name__}") from error
    if answer.is_server_error:
        raise ControlError(f"ca: {answer.status_code}")
    pem = answer.text[:_LONGEST]
    try:
        return ssl.PEM_cert_to_DER_cert(pem)
    except ValueError as error:
        raise ControlPlaneUnknown(
            f"{url} shows no certificate to compare with the join token ({answer.status_code}). "
            "The token was not sent. Look at where SHOAL_CONTROL_URL leads."
        ) from error


async def _verified(url: str, context: ssl.SSLContext) -> None:
    try:
        async with httpx.AsyncClient(verify=context, trust_env=False, timeout=TIMEOUT) as client:
            await client.get(f"{url}/agent/v1/ca")
    except httpx.ConnectError as error:
        if _certificate_refused(error):
            raise ControlPlaneUnknown(
                f"The certificate of {url} is not signed by the one that the join token names, or "
                f"is for another name: {error}. The token was not sent."
            ) from error
        raise ControlError(f"ca: {error}") from error
    except httpx.HTTPError as error:
        raise ControlError(f"ca: {error or type(error).__name__}") from error


def _certificate_refused(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _keep(file: Path, pem: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".new")
    with temporary.open("w") as stream:
        stream.write(pem)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
