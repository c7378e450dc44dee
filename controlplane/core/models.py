"""Rows that every app shares: timestamps, and the one log of what happened."""

from django.db import models
from django.utils import timezone


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
    # why no auto_now_add: its keyed hash is made before the row, of the moment that the row has
    at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)
    actor = models.CharField(max_length=150)  # user name, "node/<name>" or "system"
    verb = models.CharField(max_length=64)  # past tense: "endpoint.created", "replica.failed"
    subject = models.CharField(max_length=255, db_index=True)  # "endpoint/digits", "node/local"
    severity = models.CharField(max_length=8, choices=Severity, default=Severity.INFO)
    message = models.TextField()
    data = models.JSONField(default=dict)
    mac = models.CharField(max_length=80, blank=True)  # of ``core.seals``; none before there were
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
    boundary = models.BigIntegerField(default=0)  # events to this link have no keyed hash of theirs
    anchored = models.BigIntegerField(default=0)  # the last link that was noted outside
    anchored_at = models.DateTimeField(null=True, blank=True)
    mac = models.CharField(max_length=64, blank=True)  # keyed, over all of these

    def __str__(self) -> str:
        return f"link {self.link}"


class EventArchive(models.Model):
    """A run of sealed events that left the database, or is about to, by the seal of its file."""

    first_link = models.BigIntegerField(unique=True)
    last_link = models.BigIntegerField()
    first_seq = models.BigIntegerField()  # of the events at these links
    last_seq = models.BigIntegerField()
    first_at = models.DateTimeField()  # the earliest and the latest of its events
    last_at = models.DateTimeField()
    events = models.IntegerField()
    before = models.CharField(max_length=64)  # the chain's hash before the first
    after = models.CharField(max_length=64)  # ... and of the last
    content_sha256 = models.CharField(max_length=64)  # of the lines of its events
    mac = models.CharField(max_length=64)  # of ``core.seals``, over all of these
    sha256 = models.CharField(max_length=64, db_index=True)  # of its file, a blob
    size = models.BigIntegerField()  # bytes of that
    created_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)  # when its events were deleted here

    def __str__(self) -> str:
        return f"links {self.first_link} to {self.last_link}"
