"""What Azure's clients sent before they said what it is."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from controlplane.accounts.models import Scoped
from controlplane.core.models import Stamped
from controlplane.registry.models import Upload


class SentFolder(Stamped, Scoped):
    """A folder of blobs: an upload, by the place that a client sent it to.

    It goes when its upload does. ``place`` is ``LocalUpload/<hash>`` for what goes through the
    datastore, and ``code-<name>-<version>`` for a code asset.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("upload__project",)

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    place = models.CharField(max_length=400)
    upload = models.OneToOneField(Upload, on_delete=models.CASCADE, related_name="sent_folder")
    metadata = models.JSONField(default=dict)  # path -> {name: text}, as clients set it
    # Of a code asset, once it is one: what was said of it.
    properties = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "place"], name="one_row_per_sent_folder")
        ]

    def __str__(self) -> str:
        return self.place
