"""Deployments that somebody is still writing: what the studio's wizard holds between two visits."""

from django.conf import settings
from django.db import models

from controlplane.core.models import Stamped


class Draft(Stamped):
    """``data`` is the wizard's own; the server keeps it and does not act on it."""

    id = models.CharField(max_length=32, primary_key=True)  # uuid4().hex
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts"
    )
    title = models.CharField(max_length=255, blank=True)
    # why no foreign key: an upload may expire, and what was typed is worth keeping all the same
    upload_id = models.CharField(max_length=32, blank=True)
    data = models.JSONField(default=dict)
    revision = models.PositiveIntegerField(default=1)  # compare-and-set of every save

    def __str__(self) -> str:
        return f"{self.title or self.id} of {self.owner}"
