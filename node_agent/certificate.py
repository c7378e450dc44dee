"""The certificate by which this node proves itself: asked for, shown, and renewed in time.

The key is made here and never leaves the machine. Until the control plane has accepted a
certificate once, the node may go on as before, so that a closed port stops no node that serves.
"""

import dataclasses
import logging
import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node_agent.client import ControlClient, ControlError, CredentialRefused, Refused
from wire import proof
from wire.messages import CertificateRequest
from wire.proof import Proof

logger = logging.getLogger(__name__)

LOOK_S: Final = 600.0  # between looks at whether it is due


class Certificate:
    """That of one node, kept in `file`; `via` is where the control plane is said to be.

    Raises ProofDamaged.
    """

    def __init__(
        self,
        file: Path,
        client: ControlClient,
        *,
        via: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = file
        self._client = client
        self._via = via
        self._clock = clock
        self._proof = proof.read(file)
        self._at = ""  # where it is shown; empty: nowhere yet

    async def show(self) -> None:
        """Have one that is good for long, and call with it. Raises ControlError and its kinds."""
        if self._proof is not None and not self._at:
            await self._try(self._proof)
        found = self._proof
        if found is None or found.via != self._via or found.due(self._clock()):
            found = await self._next()
            if found is not None and not self._at:
                await self._try(found)

    def restore(self) -> None:
        """Somebody deleted the file: write what it held."""
        if self._proof is not None:
            proof.write(self._file, self._proof)

    async def _next(self) -> Proof | None:
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            reply = await self._client.certificate(CertificateRequest(csr=_request(key)))
        except Refused as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            logger.info("The control plane is of the version before and knows no certificates")
            return None
        found = Proof.of(reply, key=_pem(key), via=self._via, at=self._at)
        if self._at:
            await self._client.move(found.url, found.context())
        self._keep(found)
        return found

    async def _try(self, found: Proof) -> None:
        """Call with it from now on; where it was never accepted yet, only if that works."""
        if found.ended(self._clock()):
            if found.used:
                ended = time.strftime("%Y-%m-%d %H:%M", time.gmtime(found.ends_at))
                raise CredentialRefused(
                    HTTPStatus.UNAUTHORIZED,
                    f"This node was away for longer than its certificate lives (to {ended} UTC)",
                )
            return
        addresses, context = found.addresses(self._via), found.context()
        known = found.used and len(addresses) == 1
        url = addresses[0] if known else await self._answering(addresses, context)
        if not url and found.used:
            raise ControlError(f"No answer to our certificate at {', '.join(addresses)}")
        if url:
            await self._client.move(url, context)
            self._at = url
            self._keep(dataclasses.replace(found, url=url, used=True))

    async def _answering(self, addresses: tuple[str, ...], context: ssl.SSLContext) -> str:
        """The first of them that takes it; empty for none, with a warning."""
        reason = ""
        for url in addresses:
            try:
                await self._client.answers(url, context)
            except ControlError as error:
                reason = f"{url}: {error}"
            else:
                logger.info("This node proves itself by a certificate at %s", url)
                return url
        logger.warning(
            "The agents' port of the control plane cannot be used (%s). This node goes on at %s "
            "with its credential alone; let it through to that port.",
            *(reason, self._via),
        )
        return ""

    def _keep(self, found: Proof) -> None:
        proof.write(self._file, found)
        self._proof = found


def _request(key: ec.EllipticCurvePrivateKey) -> str:
    """Names nobody: who asks is known by the credential, and is named by who signs."""
    unsigned = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    signed = unsigned.sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
