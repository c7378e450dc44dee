"""Whether there are golden cases; light, as every process asks it that begins operations."""

from controlplane.console.models import SavedCase
from controlplane.deployments.models import Deployment
from controlplane.registry.selectors import models_called


def have_cases(deployment: Deployment) -> bool:
    """Of the models of what it shall run, in the project of its endpoint."""
    models = [model.name for model in models_called(deployment.revision.model_version)]
    found = SavedCase.objects.filter(project=deployment.endpoint.project_id, model__in=models)
    return found.exclude(expected=[]).exists()
