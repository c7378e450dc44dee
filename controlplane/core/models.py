"""Rows that every app shares: timestamps, and the one log of what happened."""

from django.db import models


class Stamped(models.Model):
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Event(models.Model):
    """One fact, append-only: the audit trail and the outbox of the live sockets in one table.

    ``seq`` rises monotonically, so that a socket resumes with "everything after seq".
    """

    class Severity(models.TextChoices):
        INFO = "info"
        WARNING = "warning"
        ERROR = "error"

    seq = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=150)  # user name, "node/<name>" or "system"
    verb = models.CharField(max_length=64)  # past tense: "endpoint.created", "replica.failed"
    subject = models.CharField(max_length=255, db_index=True)  # "endpoint/digits", "node/local"
    severity = models.CharField(max_length=8, choices=Severity, default=Severity.INFO)
    message = models.TextField()
    data = models.JSONField(default=dict)
    # Filled in once by ``core.audit``: the place in the chain, and the hash that holds it.
    link = models.BigIntegerField(null=True, blank=True, unique=True)
    digest = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["seq"]

    def __str__(self) -> str:
        return f"{self.seq} {self.verb} {self.subject}"


class AuditHead(models.Model):
    """The end of the chain over the events; one row."""

    link = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64)
    mac = models.CharField(max_length=64, blank=True)  # keyed, over the two above

    def __str__(self) -> str:
        return f"link {self.link}"
