"""Reads of deployments, one file per noun."""

from controlplane.deployments.selectors.routing import (
    KeyHash,
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingView,
    routing_view,
)

__all__ = [
    "KeyHash",
    "RoutedDeployment",
    "RoutedEndpoint",
    "RoutedReplica",
    "RoutingView",
    "routing_view",
]
