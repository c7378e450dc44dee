"""What a look means: pure, so that each sentence can be tested without a broken installation."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.system.probes import BrokerCheck, CertificateCheck, DatabaseCheck, DiskCheck
from controlplane.system.types import (
    CERTIFICATE_SHORT_DAYS,
    DISK_SHORT,
    DISK_VERY_SHORT,
    QUEUE_LONG,
    SLOW_MS,
    Fact,
    Part,
    State,
    pulse_state,
)


@dataclass(frozen=True, slots=True)
class PulseSeen:
    age_s: float
    waited_s: float | None
    worker: str


@dataclass(frozen=True, slots=True)
class Peer:
    """A gateway or a node's agent, as its last report left it."""

    name: str
    age_s: float | None
    state: str  # online, suspect, offline
    version: str
    behind: int  # changes that it has not acted upon
    error: str = ""
    certificate_ends_at: datetime | None = None  # None: it proves itself by none
    served_source: str = ""  # of a gateway: who signed what clients see
    served_ends_at: datetime | None = None


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def web(version: str, started_at: datetime, now: datetime) -> Part:
    uptime_s = (now - started_at).total_seconds()
    facts = (Fact("version", version), Fact("running for", span(uptime_s)))
    return Part("web", "Studio and REST", State.OK, "answers: you are reading it", facts=facts)


def span(seconds: float) -> str:
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def answers_in(ms: float) -> str:
    return "answers in under 0.1 ms" if ms < 0.1 else f"answers in {ms:.1f} ms"


PROXY = "Proxy before the studio"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """How the request came that asks: what its headers say, and what was believed of them."""

    address: str  # whom we take for the caller
    addresses: str  # X-Forwarded-For
    scheme: str  # X-Forwarded-Proto
    secure: bool  # whether we take it for https
    public_url: str


def proxy(seen: Forwarded) -> Part | None:
    """None where no proxy says that it is there. Only headers tell: a client may write them, too,
    and then misleads itself."""
    if not seen.addresses and not seen.scheme:
        return None
    public_https = seen.public_url.startswith("https://")
    summary, hint = f"its headers are believed: you come from {seen.address}", ""
    if seen.addresses and seen.address not in seen.addresses:
        summary = f"what {seen.address} says of its callers is not believed"
        hint = (
            f"If that is your proxy: SHOAL_TRUSTED_PROXIES={seen.address}. All people seem to "
            "sign in from there, and wait for each other's wrong passwords."
        )
    elif (seen.secure or seen.scheme == "https") and not public_https:
        summary = f"people come over https, SHOAL_PUBLIC_URL says {seen.public_url}"
        hint = "Set it to the https address: until then browsers' writes are refused (CsrfFailed)."
    elif public_https and not seen.secure:
        summary = "it does not say that people come over https"
        hint = "Let it set X-Forwarded-Proto to https: the last one in a row, if there are several."
    return Part("web", PROXY, State.WARNING if hint else State.OK, summary, hint=hint)


HEADER = "Sign-in by header"


def remote_user(header: str, trusted: bool) -> Part | None:
    """None where no proxy signs people in by a header."""
    if not header:
        return None
    if trusted:
        return Part("web", HEADER, State.OK, f"proxies say who calls, in {header}")
    return Part(
        "web", HEADER, State.ERROR, f"every request with {header} is refused",
        hint="SHOAL_REMOTE_USER_HEADER is set: name the proxy in SHOAL_TRUSTED_PROXIES, too.",
    )  # fmt: skip


def database(name: str, look: DatabaseCheck) -> Part:
    if look.error:
        return Part(
            "database", name, State.ERROR, f"does not answer: {look.error}",
            hint="Changes are refused until it is back; what runs goes on.",
        )  # fmt: skip
    slow = look.ms > SLOW_MS
    facts = (
        Fact("engine", look.engine),
        *((Fact("size", size(look.bytes)),) if look.bytes is not None else ()),
    )
    state = State.WARNING if slow else State.OK
    return Part("database", name, state, answers_in(look.ms), facts=facts)


def broker(look: BrokerCheck) -> Part:
    if look.error:
        return Part(
            "broker", "Redis", State.WARNING, f"degraded: does not answer: {look.error}",
            hint="REST answers. Jobs wait; agents poll, so deployments go on, only slower.",
        )  # fmt: skip
    facts = (
        Fact("server", look.server),
        Fact("memory", size(look.memory_bytes)),
        Fact("clients", str(look.clients)),
        Fact("running for", span(look.uptime_s)),
    )
    state = State.WARNING if look.ms > SLOW_MS else State.OK
    return Part("broker", "Redis", state, answers_in(look.ms), facts=facts)


def worker(queue: str, pulse: PulseSeen | None, depth: int | None) -> Part:
    state = pulse_state(pulse.age_s if pulse else None)
    hint = ""
    if pulse is None:
        summary = "has not done a job yet"
        hint = "It says so within ten seconds of its start."
    else:
        summary = f"last did a job {span(pulse.age_s)} ago"
    if state in (State.WARNING, State.ERROR):
        hint = "Is the worker running, and not busy with something long? Is beat running?"
    elif depth is not None and depth > QUEUE_LONG:
        state, hint = State.WARNING, "More work comes in than gets done."
    facts = (Fact("worker", pulse.worker),) if pulse else ()
    return Part(
        "worker", f"Worker of {queue}", state, summary, hint=hint, facts=facts,
        lag_s=pulse.waited_s if pulse else None, depth=depth,
    )  # fmt: skip


def beat(pulses: list[PulseSeen | None]) -> Part:
    """Beat writes nothing by itself: whatever it sent last and was done shows that it ran."""
    ages = [pulse.age_s for pulse in pulses if pulse is not None]
    newest = min(ages, default=None)
    state = pulse_state(newest)
    if newest is None:
        return Part("beat", "Beat", state, "nothing that it sent has been done yet")
    hint = "" if state is State.OK else "Beat, the broker or all workers have stopped."
    return Part("beat", "Beat", state, f"last seen {span(newest)} ago", hint=hint)


def peer(kind: str, found: Peer, now: datetime) -> Part:
    state = {"online": State.OK, "suspect": State.WARNING}.get(found.state, State.ERROR)
    heard = "never reported" if found.age_s is None else f"last reported {span(found.age_s)} ago"
    summary, hint = heard, ""
    if found.error:
        state, summary = State.ERROR, f"{found.error}; {heard}"
    elif found.behind:
        summary = f"{found.behind} changes behind; {heard}"
        if state is State.OK and (found.age_s or 0) > 0:
            state = State.WARNING if found.behind > 1 else State.OK
    if state is State.ERROR and not found.error:
        hint = "What it serves goes on; it gets no changes."
        if kind == "gateway":
            hint += " Keys that were replaced since then still open its endpoints."
            hint += f" If it is gone: `shoal gateway remove {found.name}`."
    ends_at = found.certificate_ends_at
    versions = [Fact("version", found.version)] if found.version else []
    until = Fact("certificate until", ends_at.date().isoformat() if ends_at else "none")
    facts = (*versions, until, *_served(found))
    if state is State.OK and found.served_source == "self":
        state, hint = State.WARNING, SIGNS_ITSELF
    if state is State.OK and found.served_ends_at is not None and ends_soon(found, now):
        state, hint = State.WARNING, "What clients see ends soon: put a renewed one in its place."
    return Part(kind, found.name, state, summary, hint=hint, facts=facts)


SIGNS_ITSELF = (
    "Its certificate is signed by nobody that clients of other gateways trust. docs/gateway.md, "
    "Certificates, says how it gets one of the installation."
)
SIGNED = {"installation": "by the installation", "supplied": "supplied", "self": "by itself"}


def ends_soon(found: Peer, now: datetime) -> bool:
    left = found.served_ends_at - now if found.served_ends_at else None
    return left is not None and left.days < CERTIFICATE_SHORT_DAYS


def _served(found: Peer) -> tuple[Fact, ...]:
    """What clients of this gateway see."""
    if found.served_ends_at is None:
        return ()
    told = f"{SIGNED[found.served_source]}, until {found.served_ends_at.date().isoformat()}"
    return (Fact("clients see", told),)


def certificate(look: CertificateCheck, now: datetime) -> Part:
    """The authority that callers of endpoints trust, to be compared by eye."""
    if look.error:
        return Part("certificate", look.name, State.ERROR, look.error, "docs/gateway.md")
    left = (look.ends_at - now).days
    soon = left <= CERTIFICATE_SHORT_DAYS
    hint, summary = "", f"{left} days left"
    if look.supplied and soon:
        hint = "Put a renewed one into the file of SHOAL_GATEWAY_CA_FILE."
    elif look.signs_from is not None:
        summary = f"signs from {look.signs_from.date().isoformat()}"
        hint = "Give it to clients before: `shoal gateway ca`."
    facts = (
        Fact("SHA-256", look.fingerprint),
        Fact("ends", look.ends_at.date().isoformat()),
        *((Fact("file", look.path),) if look.path else ()),
    )
    state = State.WARNING if soon else State.OK
    return Part("certificate", look.name, state, summary, hint, facts)


def disk(name: str, look: DiskCheck) -> Part:
    share = look.free / look.total if look.total else 0.0
    state = State.OK
    hint = ""
    if share < DISK_SHORT:
        state = State.ERROR if share < DISK_VERY_SHORT else State.WARNING
        hint = "Remove unused files under Settings, Storage, or give it more room."
    facts = (Fact("folder", look.path),)
    summary = f"{size(look.free)} free of {size(look.total)}"
    return Part("disk", name, state, summary, hint=hint, facts=facts)
