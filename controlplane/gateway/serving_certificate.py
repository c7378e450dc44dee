"""A gateway's side of the certificate that clients see: asked for, renewed; needs no Django."""

import logging
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.core.certificates import request_pem
from controlplane.gateway import tls
from controlplane.gateway.control_client import (
    ControlPlaneClient,
    ControlPlaneIncompatible,
    ControlPlaneUnavailable,
)
from controlplane.gateway.settings import GatewaySettings
from controlplane.gateway.tls import Source
from wire.serving_certificates import (
    ServedCertificate,
    ServingAuthority,
    ServingCertificateRequest,
)

LOOK_S = 3600.0
RETRY_S = 10.0
logger = logging.getLogger("controlplane.gateway.serving_certificate")


class ServingCertificate:
    """That in the folder of ``settings``, signed by the control plane that ``client`` calls."""

    def __init__(self, settings: GatewaySettings, client: ControlPlaneClient) -> None:
        self._folder = settings.tls_dir
        self._names = tls.with_local_names(settings.tls_names)
        self._client = client
        self._keeps_own = False  # as was said already
        self._failure = ""  # likewise

    def look(self) -> float:
        """Renew it where that is due; in how many seconds to look again. Whatever fails, Envoy
        serves on by what it has."""
        try:
            if self.renew(datetime.now(UTC)):
                logger.info("Envoy shows a certificate of the installation's authority.")
        except ControlPlaneIncompatible:
            logger.info("The control plane is of the version before: it signs no certificates.")
        except (ControlPlaneUnavailable, OSError, ValueError) as error:
            if str(error) != self._failure:
                self._failure = str(error)
                logger.warning("The certificate that Envoy shows was not renewed: %s", error)
            return RETRY_S
        self._failure = ""
        return LOOK_S

    def renew(self, now: datetime) -> bool:
        """Have one that the installation's authority of now has signed; True when it is new.

        An operator's own stays. The key is made here and never leaves. Raises
        ControlPlaneUnavailable, OSError, and ValueError for files that cannot be read.
        """
        source = tls.source(self._folder)
        if source is Source.SUPPLIED:
            return False
        told = self._client.serving_authority()
        if source is Source.SELF and not self._may_change(told):
            return False
        names = tuple(dict.fromkeys((*self._names, *told.names)))
        if source is Source.INSTALLATION and not self._due(told, names, now):
            tls.trust(self._folder, told.trusted)
            return False
        key = ec.generate_private_key(ec.SECP256R1())
        request = ServingCertificateRequest(csr=request_pem(key), names=self._names)
        reply = self._client.serving_certificate(request)
        made = x509.load_pem_x509_certificate(reply.certificate.encode())
        if made.public_key() != key.public_key():
            raise ControlPlaneUnavailable("The control plane signed another key than ours.")
        tls.put(self._folder, key, reply.certificate, reply.trusted)
        return True

    def served(self) -> ServedCertificate | None:
        """For the report; None: it cannot be read, as ``look`` says."""
        try:
            shown = tls.shown(self._folder)
        except (OSError, ValueError):
            return None
        if shown is None:
            return None
        ends_at = shown.not_valid_after_utc.timestamp()
        return ServedCertificate(source=str(tls.source(self._folder)), ends_at=ends_at)

    def _due(self, told: ServingAuthority, names: tuple[str, ...], now: datetime) -> bool:
        shown = tls.shown(self._folder)
        if shown is None:
            return True
        life = shown.not_valid_after_utc - shown.not_valid_before_utc
        signing = x509.load_pem_x509_certificate(told.signing.encode())
        return (
            now > shown.not_valid_after_utc - life / 3
            or tls.lacks(shown, names)
            or not tls.signed_by(shown, signing)
        )

    def _may_change(self, told: ServingAuthority) -> bool:
        """Clients of a gateway that had an authority of its own trust that one: it goes on by it
        until it is the installation's, or an operator has taken it away."""
        own = tls.own_authority(self._folder)
        if own is None:
            return True
        trusted = x509.load_pem_x509_certificates(told.trusted.encode())
        same = any(own.public_key() == one.public_key() for one in trusted)
        if not same and not self._keeps_own:
            self._keeps_own = True
            logger.warning(
                "This gateway signs its certificate itself, as before, since its clients trust "
                "%s. Once they trust the installation's (`shoal gateway ca`), remove %s.",
                *(self._folder / "ca.pem", self._folder / "ca.key"),
            )
        return same
