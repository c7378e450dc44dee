"""Certificate authorities of the control plane: rows with sealed keys, and who signs when.

An installation has two, which never sign for one another: whoever trusts the certificates that
endpoints show must not thereby trust, or be taken for, a node or the control plane.
"""

import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from django.db import IntegrityError, models, transaction

from controlplane.core import vault
from controlplane.core.certificates import Signer, key_pem, pem, public_key_of
from controlplane.core.errors import Unavailable

AUTHORITY_LIFE = timedelta(days=3650)


class AuthorityUnreadable(Unavailable):
    """The key of an authority was sealed with another secret than ours."""

    code = "AuthorityUnreadable"
    tries = ("Put back the SHOAL_SECRET_KEY with which this database was used before.",)


class AuthorityRow(models.Model):
    number = models.PositiveIntegerField(primary_key=True)  # 1, 2 ...: two at once make one
    certificate = models.TextField()  # PEM
    sealed_key = models.TextField()
    signs_from = models.DateTimeField()  # later than made: who trusts it must know it before
    ends_at = models.DateTimeField()

    class Meta:
        abstract = True


Row = TypeVar("Row", bound=AuthorityRow)


@dataclass(frozen=True, slots=True)
class Authorities(Generic[Row]):
    """Those of one purpose. The next is made ``replaced_before`` the end of the last one, and signs
    ``known_before`` later: in between whoever trusts the one learns of the other."""

    model: type[Row]
    purpose: str  # what the vault knows the keys by
    name: str  # in certificates
    known_before: timedelta
    replaced_before: timedelta

    def valid(self, now: datetime) -> list[Row]:
        """Those that have not ended, the oldest first."""
        return list(self.model._default_manager.filter(ends_at__gt=now).order_by("number"))

    def ensure(self, now: datetime) -> list[Row]:
        """As ``valid``; makes the first, and in time the next."""
        valid = self.valid(now)
        if valid and valid[-1].ends_at - now > self.replaced_before:
            return valid
        made = Signer.new(self.name, now=now, life=AUTHORITY_LIFE)
        # why suppressed: another process was first, and its authority is as good
        with contextlib.suppress(IntegrityError), transaction.atomic():
            self._keep(made, signs_from=now + self.known_before if valid else now)
        return self.valid(now)

    def adopt(self, certificate: str, key: str, now: datetime) -> None:
        """Let this pair (PEM) be the first. Once more, or renewed with the same key: nothing
        happens.

        Raises ValueError: it is none that signs, or there is another one already.
        """
        given = Signer.from_pem(certificate.encode(), key.encode())
        given.check(now)
        known = [public_key_of(row.certificate) for row in self.valid(now)]
        if public_key_of(certificate) in known:
            return
        if known:
            raise ValueError(
                "another authority signs here already, and that one is trusted. Give the key of "
                "before, or none"
            )
        self._keep(given, signs_from=now)

    def signing(self, now: datetime) -> Row:
        """The newest that may sign."""
        rows = self.ensure(now)
        return next((row for row in reversed(rows) if row.signs_from <= now), rows[0])

    def signer(self, now: datetime) -> Signer:
        """Raises AuthorityUnreadable."""
        row = self.signing(now)
        try:
            key = vault.unseal(self.purpose, row.sealed_key)
        except vault.InvalidToken as error:
            raise AuthorityUnreadable(
                f"The key of {row} was sealed with another SHOAL_SECRET_KEY."
            ) from error
        return Signer.from_pem(row.certificate.encode(), key.encode())

    def _keep(self, made: Signer, *, signs_from: datetime) -> None:
        rows = self.model._default_manager
        newest = rows.order_by("-number").values_list("number", flat=True).first() or 0
        rows.create(
            number=newest + 1,
            certificate=pem(made.certificate),
            sealed_key=vault.seal(self.purpose, key_pem(made.key)),
            signs_from=signs_from,
            ends_at=made.certificate.not_valid_after_utc,
        )
