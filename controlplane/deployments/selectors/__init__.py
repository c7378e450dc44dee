"""Reads of deployments, one file per noun."""

from controlplane.deployments.selectors.routing import (
    Hold,
    KeyHash,
    RateLimit,
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingRevision,
    RoutingView,
    Rule,
    Sticky,
    routing_revision,
    routing_view,
)
from controlplane.deployments.selectors.rows import (
    deployment_get,
    endpoint_get,
    endpoint_list,
    endpoints_matching,
    nodes_running,
    revision_list,
    scopes_told_since,
    told_since,
)
from controlplane.deployments.selectors.scraping import ScrapeTarget, scrape_targets
from controlplane.deployments.selectors.shown import (
    addresses,
    endpoint_shown,
    traffic_change_shown,
)

__all__ = [
    "Hold",
    "KeyHash",
    "RateLimit",
    "RoutedDeployment",
    "RoutedEndpoint",
    "RoutedReplica",
    "RoutingRevision",
    "RoutingView",
    "Rule",
    "ScrapeTarget",
    "Sticky",
    "addresses",
    "deployment_get",
    "endpoint_get",
    "endpoint_list",
    "endpoint_shown",
    "endpoints_matching",
    "nodes_running",
    "revision_list",
    "routing_revision",
    "routing_view",
    "scopes_told_since",
    "scrape_targets",
    "told_since",
    "traffic_change_shown",
]
