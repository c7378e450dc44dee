"""``azure.ai.ml`` is Shoal's SDK here."""

from shoal import MLClient, load_model, load_online_deployment, load_online_endpoint

__all__ = ["MLClient", "load_model", "load_online_deployment", "load_online_endpoint"]
