"""Values of nodes: the rule of liveness, and what tokens and credentials look like."""

import hashlib
import ipaddress
import secrets
import ssl
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

Liveness = Literal["online", "suspect", "offline"]
SHORTEST_S: Final = 5.0  # between reports
LONGEST_S: Final = 60.0
LEISURE_S: Final = 2.0  # between samples, where few nodes are and nobody watches


@dataclass(frozen=True, slots=True)
class LivenessRule:
    """Ages of the last report, in seconds, beyond which a node changes its state."""

    interval_s: float
    suspect_after_s: float
    offline_after_s: float

    @property
    def late_after_s(self) -> float:
        """Half a report more than the interval: what the network and the agent may take."""
        return 1.5 * self.interval_s

    def state(self, age_s: float | None) -> Liveness:
        """``age_s`` is None for a node that never reported."""
        if age_s is None or age_s > self.offline_after_s:
            return "offline"
        return "suspect" if age_s > self.suspect_after_s else "online"


def liveness(interval_s: float) -> LivenessRule:
    """Two missed reports make a node suspect, four take it offline."""
    interval_s = min(max(interval_s, SHORTEST_S), LONGEST_S)
    return LivenessRule(interval_s, 2 * interval_s, 4 * interval_s)


LIVENESS: Final = liveness(SHORTEST_S)


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often each node calls, in seconds."""

    report_s: float
    poll_s: float
    sample_s: float

    def sampling_s(self, wanted_s: float) -> float:
        """Many nodes sample less often than is wanted, but not while somebody watches."""
        return wanted_s if wanted_s < LEISURE_S else max(wanted_s, self.sample_s)


REPORTS_PER_S: Final = 70.0  # of all nodes together
OTHERS_PER_S: Final = 15.0  # polls, and samples
RAREST_S: Final = 300.0  # between polls, and between samples
# However slow we are, so few nodes as call in a second are not asked to call less often.
LEAST_PER_S: Final = 4.0


def cadence(nodes: int, answer_s: float = 0.0) -> Cadence:
    """Together ``nodes`` make at most 100 calls a second, most of them reports.

    Fewer where one report takes ``answer_s``: reports shall not fill more than half of the time,
    else calls pile up until none is answered before its caller has given up.
    A report's answer also says whether there is something to fetch, so polls may be rare.
    """
    per_s = REPORTS_PER_S
    if answer_s > 0:
        per_s = min(per_s, max(LEAST_PER_S, 0.5 / answer_s))
    others_s = min(nodes / (OTHERS_PER_S * per_s / REPORTS_PER_S), RAREST_S)
    return Cadence(
        report_s=min(max(SHORTEST_S, nodes / per_s), LONGEST_S),
        poll_s=max(2.0, others_s),
        sample_s=max(LEISURE_S, others_s),
    )


CONDITIONS: Final = (
    "ClockSkew", "VersionSkew", "DiskPressure", "CacheSpoiled",
    "AddressUnreachable", "ClaimRefused", "CertificateNotShown", "CertificateEnds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """Something about a node that people should know; it works nevertheless."""

    code: (
        str  # ClockSkew, VersionSkew, DiskPressure, CacheSpoiled, AddressUnreachable, ClaimRefused
    )
    message: str


CLOCK_SKEW_S: Final = 5.0


def out_of_reach(address: str, boot_id: str, our_boot_id: str) -> bool:
    """Whether another machine than ours says that it is found at loopback, where each finds itself.

    Boot ids tell machines apart; a system that has none has none for us either.
    """
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        loopback = address == "localhost"
    return loopback and boot_id != our_boot_id


CERTIFICATE_SHORT: Final = timedelta(days=10)  # of 30; renewed when 20 are left
JOIN_TOKEN_LIFETIME: Final = timedelta(hours=1)
JOIN_PREFIX: Final = "sjoin_"
CREDENTIAL_PREFIX: Final = "snode_"
SHOWN_CHARS: Final = 12


def join_token_new(fingerprint: str) -> str:
    """``sjoin_<secret>.<fingerprint>``: agents verify by it who we are, before they send it."""
    return f"{JOIN_PREFIX}{secrets.token_urlsafe(32)}.{fingerprint}"


def certificate_fingerprint(pem: str) -> str:
    """SHA-256 of the certificate."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def credential_new(node_id: str) -> str:
    """``snode_<node id>_<secret>``: the id finds the row, the whole proves the node."""
    return f"{CREDENTIAL_PREFIX}{node_id}_{secrets.token_urlsafe(32)}"


def credential_node_id(credential: str) -> str | None:
    """The id inside a credential; None when it does not look like one."""
    if not credential.startswith(CREDENTIAL_PREFIX):
        return None
    node_id, separator, secret = credential.removeprefix(CREDENTIAL_PREFIX).partition("_")
    return node_id if node_id and separator and secret else None


def secret_hash(clear: str) -> str:
    """Plain SHA-256 is enough: tokens and credentials hold 256 random bits."""
    return hashlib.sha256(clear.encode()).hexdigest()
