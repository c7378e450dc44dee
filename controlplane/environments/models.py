"""Versions of environments, which never change but for the words about them."""

from django.db import models

from controlplane.accounts.models import OfProject
from controlplane.core.models import Stamped


class EnvironmentVersion(Stamped, OfProject):
    """A list of packages. ``digest`` is that of all that decides what is installed.

    ``requirements`` is what nodes give to pip; ``conda_file`` what it was made from, kept and given
    back, as are ``image`` and ``declared``.
    """

    name = models.CharField(max_length=255)
    version = models.PositiveIntegerField()
    description = models.TextField(blank=True)
    tags = models.JSONField(default=dict)
    requirements = models.TextField(blank=True)
    conda_file = models.JSONField(null=True, blank=True)
    image = models.CharField(max_length=1024, blank=True)
    declared = models.JSONField(default=dict, blank=True)
    digest = models.CharField(max_length=64)
    archived = models.BooleanField(default=False)
    created_by = models.CharField(max_length=150)

    # Filled in by selectors.
    used_by: list[str]  # endpoint names

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name", "version"], name="one_row_per_environment_version"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"

    @property
    def reference(self) -> str:
        """As deployments' files and registered versions name it."""
        return f"azureml:{self.name}:{self.version}"
