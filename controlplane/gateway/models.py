"""Gateways that fetch their configuration from here, and what each of them confirmed."""

from django.db import models

from controlplane.core.authorities import AuthorityRow
from controlplane.core.models import Stamped


class Gateway(Stamped):
    name = models.CharField(max_length=100, primary_key=True)
    applied_version = models.CharField(max_length=64, blank=True)
    healthy = models.BooleanField(default=True)
    error = models.JSONField(null=True, blank=True)
    host_health = models.JSONField(default=dict)
    left_out = models.JSONField(default=list)  # wire.messages.LeftOut, of the applied version
    last_seen_at = models.DateTimeField(null=True, blank=True)
    silent = models.BooleanField(default=False)  # as an event has told already
    certificate_ends_at = models.DateTimeField(null=True, blank=True)  # of the newest; null: none
    # When it first proved itself by a certificate: since then the token alone is refused.
    certified_at = models.DateTimeField(null=True, blank=True)

    # Of the certificate that its Envoy shows to clients: wire.serving_certificates, as reported.
    served_source = models.CharField(max_length=16, blank=True)  # empty: it has not said
    served_ends_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class ServingAuthorityRow(AuthorityRow):
    """What signs the certificates that clients of endpoints see (``authority``)."""

    def __str__(self) -> str:
        return f"Endpoints' authority {self.number}"


class Release(models.Model):
    """A snapshot that was handed out: which generation of each endpoint it held."""

    version = models.CharField(max_length=64, primary_key=True)
    generations = models.JSONField()  # endpoint name -> generation
    updated_at = models.DateTimeField(auto_now=True, db_index=True)

    def __str__(self) -> str:
        return self.version
