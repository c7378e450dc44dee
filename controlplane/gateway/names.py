"""Cluster names: the one thing that renderer and access log must agree on. Needs no Django."""

# What no endpoint or deployment name may contain, so that two pairs never share a cluster. Not a
# dot: dots break the labels of Envoy's statistics.
_JOINT = "__"
NO_CLUSTER = "-"  # what the access log shows when Envoy answered by itself


def cluster_name(endpoint: str, deployment: str, protocol: str) -> str:
    return _JOINT.join((endpoint, deployment, protocol))


def deployment_of(cluster: str) -> str:
    """The deployment that a cluster belongs to; empty when there is no cluster."""
    return "" if cluster == NO_CLUSTER else cluster.split(_JOINT)[1]


def endpoint_of_cluster(cluster: str) -> str:
    return cluster.split(_JOINT, maxsplit=1)[0]
