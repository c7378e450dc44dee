"""Writes of nodes, one file per subject."""

from controlplane.nodes.services.duties import (
    node_cordon,
    node_drain,
    node_emptied,
    node_generation_raise,
    node_labels_set,
    node_remove,
    nodes_wake,
)
from controlplane.nodes.services.joining import (
    join_token_create,
    join_token_delete,
    node_admitted,
    node_certificate,
    node_register,
)
from controlplane.nodes.services.reports import cache_seen, node_seen, nodes_expire

__all__ = [
    "cache_seen",
    "join_token_create",
    "join_token_delete",
    "node_admitted",
    "node_certificate",
    "node_cordon",
    "node_drain",
    "node_emptied",
    "node_generation_raise",
    "node_labels_set",
    "node_register",
    "node_remove",
    "node_seen",
    "nodes_expire",
    "nodes_wake",
]
