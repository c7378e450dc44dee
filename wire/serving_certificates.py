"""What gateways and the control plane say of the certificates that clients of endpoints see."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServingAuthority:
    """Who signs those certificates now."""

    trusted: str  # PEM: what clients should trust; one or, while it changes, several
    signing: str  # PEM: what signed a certificate that is up to date
    names: tuple[str, ...]  # that every gateway's certificate should have


@dataclass(frozen=True, slots=True)
class ServingCertificateRequest:
    csr: str  # PKCS #10 as PEM; only its key is read
    names: tuple[str, ...]  # host names and addresses by which clients call this gateway


@dataclass(frozen=True, slots=True)
class ServingCertificateReply:
    certificate: str  # PEM: the gateway's, then what stands between it and who is trusted
    trusted: str  # as above


@dataclass(frozen=True, slots=True)
class ServedCertificate:
    """What Envoy shows. ``source``: ``installation`` (the control plane signed it), ``supplied``
    (an operator put it there), ``self`` (this gateway signed it, which no other gateway's clients
    trust)."""

    source: str
    ends_at: float
