"""Writes of deployments, one file per noun."""

from controlplane.deployments.services.routes import gateway_confirmed

__all__ = ["gateway_confirmed"]
