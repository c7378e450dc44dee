"""``azure.ai.ml.entities`` are Shoal's entities here."""

from shoal.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint, Model

__all__ = ["ManagedOnlineDeployment", "ManagedOnlineEndpoint", "Model"]
