"""Second factors: one-time passwords by time (RFC 6238), and recovery codes. Pure.

The arithmetic is ``cryptography``'s, which is here already; django-otp would bring tables and
middleware for what accounts have.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from controlplane.accounts.models import User

STEP_S: Final = 30
DIGITS: Final = 6
SKEW_STEPS: Final = 1  # a clock may be that far off, or a code that old
SECRET_BYTES: Final = 20
BEGUN_FOR: Final = timedelta(minutes=10)  # a secret that was shown waits that long for a code
RECOVERY_CODES: Final = 10
RECOVERY_BYTES: Final = 10  # 16 letters: nobody guesses them
NEVER: Final = -1
LOCAL: Final = (User.SignIn.PASSWORD, User.SignIn.BREAK_GLASS)  # whose password is kept here


@dataclass(frozen=True, slots=True)
class Factor:
    """What is kept of somebody's, unsealed."""

    secret: bytes
    last_step: int = NEVER  # of the newest code that opened: neither it nor an older one does again
    recovery: tuple[str, ...] = ()  # digests of the codes that are left


@dataclass(frozen=True, slots=True)
class Accepted:
    """The factor after a code was taken, which it will not take again."""

    factor: Factor
    by: str  # ``totp`` or ``recovery``


def secret_new() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def secret_text(secret: bytes) -> str:
    """As people type it into their app."""
    return base64.b32encode(secret).decode().rstrip("=")


def uri(secret: bytes, *, username: str, issuer: str) -> str:
    """For a QR code: the form that apps read."""
    return _totp(secret).get_provisioning_uri(username, issuer)


def code_at(secret: bytes, now_s: float) -> str:
    return _totp(secret).generate(int(now_s)).decode()


def accepted(factor: Factor, code: str, now_s: float, key: bytes) -> Accepted | None:
    """None: it is no code of this factor now, or was used. ``key`` is that of the digests."""
    typed = _tidied(code)
    if re.fullmatch(rf"[0-9]{{{DIGITS}}}", typed, re.ASCII):
        step = _step(factor, typed, now_s)
        if step is None:
            return None
        return Accepted(Factor(factor.secret, step, factor.recovery), "totp")
    digest = recovery_digest(typed, key)
    left = tuple(one for one in factor.recovery if not hmac.compare_digest(one, digest))
    if len(left) == len(factor.recovery):
        return None
    return Accepted(Factor(factor.secret, factor.last_step, left), "recovery")


def _step(factor: Factor, code: str, now_s: float) -> int | None:
    """Every step is compared, whichever fits: how long it takes says nothing."""
    now = int(now_s // STEP_S)
    found = None
    for step in range(max(0, now - SKEW_STEPS), now + SKEW_STEPS + 1):
        same = hmac.compare_digest(code_at(factor.secret, step * STEP_S), code)
        if same and step > factor.last_step and found is None:
            found = step
    return found


def recovery_new(key: bytes) -> tuple[list[str], tuple[str, ...]]:
    """Codes to be shown once, and the digests that are kept of them."""
    clear = [_recovery_code() for _ in range(RECOVERY_CODES)]
    return clear, tuple(recovery_digest(code, key) for code in clear)


def recovery_digest(code: str, key: bytes) -> str:
    """Keyed, so that a stolen database without the installation's secret cannot be searched."""
    return hmac.new(key, _tidied(code).encode(), hashlib.sha256).hexdigest()


def is_required(user: User, roles: Iterable[str]) -> bool:
    """Whether an installation that wants a second factor of ``roles`` wants one of this account.

    Not of the host's own way in: it is made when nothing else works, and each use is on record.
    """
    return user.sign_in == User.SignIn.PASSWORD and user.role in roles


def applies(user: User) -> bool:
    """Whether Shoal itself signs this account in; others are their provider's to ask."""
    return user.sign_in in LOCAL


def _recovery_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def _tidied(code: str) -> str:
    """Without what people put between the letters."""
    return re.sub(r"[\s-]", "", code).lower()


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_S)  # noqa: S303 - what every app can read
