"""What the test console keeps: calls worth making again, and what they should answer."""

from django.db import models

from controlplane.accounts.models import OfProject
from controlplane.core.models import Stamped


class SavedCase(Stamped, OfProject):
    """Inputs and options of one call of a model, under a name; a link to it fills the console."""

    id = models.CharField(max_length=32, primary_key=True)  # uuid4().hex
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    model = models.CharField(max_length=255, db_index=True)  # what clients call it, not the asset
    endpoint = models.CharField(max_length=64, blank=True)  # where it was saved; may be gone
    inputs = models.JSONField()  # [{name, datatype, shape, data}], as the console's socket takes
    options = models.JSONField(default=dict)  # {protocol, version, parameters}
    expected = models.JSONField(default=list)  # outputs, as inputs; empty: nobody has said
    tolerance = models.JSONField(default=dict)  # {relative, absolute}, of floating-point outputs
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "model", "name"], name="one_saved_case_per_name_in_project"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.name}"
