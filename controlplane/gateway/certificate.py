"""The certificate by which a gateway proves itself to the control plane; needs no Django."""

import dataclasses
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.core.certificates import key_pem, request_pem
from controlplane.gateway.control_client import (
    ControlPlaneClient,
    ControlPlaneIncompatible,
    ControlPlaneUnavailable,
)
from wire import proof
from wire.messages import CertificateRequest
from wire.proof import Proof

logger = logging.getLogger("controlplane.gateway.certificate")


class Certificate:
    """That of the gateway `name`, kept in `file`; `via` is where the control plane is said to be.

    As nodes do (``node_agent.certificate``). Raises ProofDamaged.
    """

    def __init__(
        self,
        file: Path,
        client: ControlPlaneClient,
        *,
        name: str,
        via: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = file
        self._client = client
        self._name = name
        self._via = via
        self._clock = clock
        self._proof = proof.read(file)
        self._at = ""  # where it is shown; empty: nowhere yet

    def show(self) -> None:
        """Have one that is good for long, and call with it. Raises ControlPlaneUnavailable."""
        if self._proof is not None and not self._at:
            self._try(self._proof)
        found = self._proof
        if found is None or found.via != self._via or found.due(self._clock()):
            found = self._next()
            if found is not None and not self._at:
                self._try(found)

    def _next(self) -> Proof | None:
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            reply = self._client.certificate(
                CertificateRequest(csr=request_pem(key), name=self._name)
            )
        except ControlPlaneIncompatible:
            logger.info("The control plane is of the version before and knows no certificates")
            return None
        found = Proof.of(reply, key=key_pem(key), via=self._via, at=self._at)
        if self._at:
            self._client.move(found.url, found.context())
        self._keep(found)
        return found

    def _try(self, found: Proof) -> None:
        """Call with it from now on; where it was never accepted yet, only if that works."""
        if found.ended(self._clock()):
            return  # the token is good for a new one
        addresses, context = found.addresses(self._via), found.context()
        known = found.used and len(addresses) == 1
        url = addresses[0] if known else self._answering(addresses, context)
        if not url and found.used:
            raise ControlPlaneUnavailable(f"No answer to our certificate at {', '.join(addresses)}")
        if url:
            self._client.move(url, context)
            self._at = url
            self._keep(dataclasses.replace(found, url=url, used=True))

    def _answering(self, addresses: tuple[str, ...], context: ssl.SSLContext) -> str:
        """The first of them that takes it; empty for none, with a warning."""
        reason = ""
        for url in addresses:
            try:
                self._client.answers(url, context)
            except ControlPlaneUnavailable as error:
                reason = f"{url}: {error}"
            else:
                logger.info("This gateway proves itself by a certificate at %s", url)
                return url
        logger.warning(
            "The agents' port of the control plane cannot be used (%s). This gateway goes on at %s "
            "with its token alone; let it through to that port.",
            *(reason, self._via),
        )
        return ""

    def _keep(self, found: Proof) -> None:
        proof.write(self._file, found)
        self._proof = found


def trusted(file: Path | None) -> ssl.SSLContext | None:
    """Who may answer at the control plane's address; None: whom this machine trusts.

    Raises OSError, ssl.SSLError.
    """
    if file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=file.read_text())
    return context
