"""Where models run: worker nodes and the tokens that let them join."""

from django.db import models
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Left

from controlplane.core.authorities import AuthorityRow
from controlplane.core.models import Stamped
from controlplane.nodes.states import NodeDuty, NodeState


class Node(Stamped):
    State = NodeState  # it changes by nodes.states.NODES

    id = models.CharField(max_length=32, primary_key=True)
    name = models.CharField(max_length=100, unique=True)
    credential_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=16, choices=NodeState, default=NodeState.ONLINE)
    cordoned = models.BooleanField(default=False)
    labels = models.JSONField(default=dict, blank=True)  # set here; what the agent says is in info
    # While these are set, what runs there is moved away; at the deadline the rest is stopped.
    drain_started_at = models.DateTimeField(null=True, blank=True)
    drain_deadline_at = models.DateTimeField(null=True, blank=True)
    info = models.JSONField(default=dict)  # wire.messages.NodeInfo as last reported
    # of ``info``, for the database to order by: reading the whole of it costs more than the order
    disk_free_bytes = models.GeneratedField(
        expression=Cast(KT("info__disk_free_bytes"), models.BigIntegerField()),
        output_field=models.BigIntegerField(null=True),
        db_persist=True,
    )
    # of ``info`` as well, to be looked up: no report may read what all other nodes have said.
    # No more than an address has: a node may say anything, and an index takes no long texts.
    address = models.GeneratedField(
        expression=Left(KT("info__address"), 64),
        output_field=models.TextField(null=True),
        db_persist=True,
    )
    desired_generation = models.BigIntegerField(default=0)
    observed_generation = models.BigIntegerField(default=0)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    online_since = models.DateTimeField(null=True, blank=True)  # first report after a silence
    certificate_ends_at = models.DateTimeField(null=True, blank=True)  # of the newest; null: none
    # When it first proved itself by a certificate: since then its credential alone is refused.
    certified_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["address"], name="node_address"),
            # why: nearly never is any drained, and only who reads all of them knows without it
            models.Index(
                fields=["drain_deadline_at"],
                condition=models.Q(drain_deadline_at__isnull=False),
                name="node_draining",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def duty(self) -> NodeDuty:
        """What we want of it; it changes by ``nodes.states.DUTIES``."""
        if self.drain_started_at is None:
            return NodeDuty.CORDONED if self.cordoned else NodeDuty.OPEN
        return NodeDuty.DRAINED if self.drain_deadline_at is None else NodeDuty.DRAINING


class CachedBlob(models.Model):
    """A blob that lies verified in a node's cache, as last reported."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="cached_blobs")
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    used_at = models.DateTimeField()  # when it was last wanted
    in_use = models.BooleanField(default=False)  # a replica's repository links to it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "sha256"], name="one_cached_blob_per_node")
        ]

    def __str__(self) -> str:
        return self.sha256[:12]


class JoinToken(Stamped):
    token_hash = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    node = models.ForeignKey(Node, null=True, blank=True, on_delete=models.SET_NULL)
    created_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"{self.prefix}…"


class Authority(AuthorityRow):
    """What signs the certificates of agents, and of the port that they call (``authority``)."""

    def __str__(self) -> str:
        return f"Agents' authority {self.number}"
