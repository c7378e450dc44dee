"""Password hashes cost memory on purpose, 100 MiB each; so few are made at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.contrib.auth.hashers import Argon2PasswordHasher

from controlplane.accounts.errors import SignInBusy

MAX_WAIT_S: Final = 10.0


class Turns:
    """``at_once`` work, ``waiting`` more may wait for their turn, and nobody for too long."""

    def __init__(self, *, at_once: int, waiting: int, max_wait_s: float = MAX_WAIT_S) -> None:
        self._turns = threading.BoundedSemaphore(at_once)
        self._places = threading.BoundedSemaphore(at_once + waiting)
        self._max_wait_s = max_wait_s

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Raises SignInBusy when all places are taken, or the wait becomes too long."""
        if not self._places.acquire(blocking=False):
            raise self._busy()
        try:
            if not self._turns.acquire(timeout=self._max_wait_s):
                raise self._busy()
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._places.release()

    def _busy(self) -> SignInBusy:
        return SignInBusy(
            "Too many passwords are being checked at once.",
            extra={"retry_after_s": int(self._max_wait_s)},
        )


HASHES: Final = Turns(at_once=3, waiting=32)
# Of these three at most two: who signed in from there before is heard beside any flood.
STRANGERS: Final = Turns(at_once=2, waiting=16)


class BoundedArgon2PasswordHasher(Argon2PasswordHasher):
    """Django's, with its parameters; whoever makes or checks a hash waits for a turn."""

    def encode(self, password: str, salt: str) -> str:
        with HASHES.turn():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with HASHES.turn():
            return super().verify(password, encoded)
