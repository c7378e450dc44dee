"""How a node or a gateway proves itself to the control plane: a key, and a certificate of it.

One file holds all of it, so that a new one replaces the old as a whole. Making keys is left to the
callers: this package imports nothing but the standard library.
"""

import dataclasses
import json
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wire.messages import CertificateReply

RENEWED_AFTER: Final = 1 / 3  # of its life: two thirds are left for a control plane that is down


class ProofDamaged(RuntimeError):
    """The file cannot be read; the text names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Times are seconds since the epoch. `used`: the control plane has accepted it once, and
    accepts no less since then."""

    url: str  # of the port for agents
    via: str  # the address from which we learned of it
    authority: str  # PEM: who may answer there
    certificate: str  # PEM
    key: str  # PEM
    begins_at: float
    ends_at: float
    used: bool = False

    @classmethod
    def of(cls, reply: CertificateReply, *, key: str, via: str, at: str) -> "Proof":
        """What was asked for with this key. ``at``: where one is shown already; empty: nowhere."""
        return cls(
            url=at or reply.url.rstrip("/"),
            via=via,
            authority=reply.authority,
            certificate=reply.certificate,
            key=key,
            begins_at=reply.begins_at,
            ends_at=reply.ends_at,
            used=bool(at),
        )

    def addresses(self, via: str) -> tuple[str, ...]:
        """Where to show it, the best first.

        That is ``via`` itself, if it is such a port, else what the control plane told; only the
        one that worked, when one has and ``via`` is the same as then.
        """
        if self.used and self.via == via:
            return (self.url,)
        return tuple(dict.fromkeys([via, self.url] if via.startswith("https:") else [self.url]))

    def due(self, now: float) -> bool:
        """Whether to ask for the next one."""
        return now >= self.begins_at + (self.ends_at - self.begins_at) * RENEWED_AFTER

    def ended(self, now: float) -> bool:
        return now >= self.ends_at

    def context(self) -> ssl.SSLContext:
        """Shows this certificate, and trusts its authority alone. Raises ssl.SSLError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cadata=self.authority)
        load_pair(context, certificate=self.certificate, key=self.key)
        return context


def load_pair(context: ssl.SSLContext, *, certificate: str, key: str) -> None:
    """Both are PEM. OpenSSL takes them from files only: one of ours alone, gone after this."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # made with mode 0600
        file.write(f"{key}\n{certificate}\n")
        file.flush()
        context.load_cert_chain(file.name)


def read(file: Path) -> Proof | None:
    """What is kept in `file`; None when there is none. Raises ProofDamaged."""
    try:
        found = Proof(**json.loads(file.read_text()))
        found.context()
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, ssl.SSLError) as error:
        raise ProofDamaged(f"{file} is damaged ({error}). Delete it and join again.") from error
    return found


def write(file: Path, proof: Proof) -> None:
    """Keep it for this user alone, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".new")
    temporary.unlink(missing_ok=True)  # what lies there may have another mode, or be a link
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        json.dump(dataclasses.asdict(proof), stream)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
