"""Time series and log lines, in a database of their own. They carry labels, never keys upward."""

from django.db import models


class ReplicaSample(models.Model):
    """Counters of one replica at one moment (``wire.samples.ReplicaSample``)."""

    endpoint = models.CharField(max_length=64)
    deployment = models.CharField(max_length=64)
    replica_id = models.CharField(max_length=32)
    node = models.CharField(max_length=64, default="")  # its name
    at = models.FloatField()  # Unix seconds
    data = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["endpoint", "at"], name="replica_sample_by_endpoint"),
            models.Index(fields=["at"], name="replica_sample_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.replica_id}@{self.at:.1f}"


class GatewaySample(models.Model):
    """What the gateway saw of one deployment in one interval."""

    endpoint = models.CharField(max_length=64)
    deployment = models.CharField(max_length=64)
    at = models.FloatField()
    data = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["endpoint", "at"], name="gateway_sample_by_endpoint"),
            models.Index(fields=["at"], name="gateway_sample_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint}/{self.deployment}@{self.at:.1f}"


class RequestSample(models.Model):
    """One request of a few (``wire.samples.SeenRequest``)."""

    endpoint = models.CharField(max_length=64)
    deployment = models.CharField(max_length=64)  # empty: the gateway answered by itself
    request_id = models.CharField(max_length=64)
    at = models.FloatField()  # Unix seconds of its first byte
    why = models.CharField(max_length=16)  # failed, slow, sampled
    status_class = models.CharField(max_length=3)
    duration_us = models.FloatField(null=True)
    data = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["endpoint", "at"], name="request_by_endpoint"),
            models.Index(fields=["request_id"], name="request_by_id"),
            models.Index(fields=["at"], name="request_by_age"),
        ]

    def __str__(self) -> str:
        return self.request_id


class RequestTrace(models.Model):
    """One request of a few, as its replica saw it (``wire.samples.TracedRequest``)."""

    endpoint = models.CharField(max_length=64)
    deployment = models.CharField(max_length=64)
    replica_id = models.CharField(max_length=64)
    node = models.CharField(max_length=64)  # its name
    request_id = models.CharField(max_length=64)
    at = models.FloatField()  # Unix seconds of its arrival
    execution = models.CharField(max_length=32)  # alike for those that shared it; may be empty
    data = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["request_id"], name="request_trace_by_id"),
            models.Index(fields=["replica_id", "execution"], name="request_trace_by_execution"),
            models.Index(fields=["at"], name="request_trace_by_age"),
        ]

    def __str__(self) -> str:
        return self.request_id


class NodeSample(models.Model):
    node_id = models.CharField(max_length=32)
    node = models.CharField(max_length=64, default="")  # its name
    at = models.FloatField()
    data = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["node", "at"], name="node_sample_by_name"),
            models.Index(fields=["at"], name="node_sample_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.node_id}@{self.at:.1f}"


class RollUp(models.Model):
    """What is left of the samples of one scope in a minute, ten, or an hour (``stored.py``)."""

    scope = models.CharField(max_length=200)  # see types.Scope
    span_s = models.PositiveIntegerField()  # 60, 600 or 3600
    at = models.BigIntegerField()  # Unix seconds of its end
    data = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "span_s", "at"], name="one_roll_up_per_span")
        ]
        indexes = [models.Index(fields=["span_s", "at"], name="roll_up_by_age")]

    def __str__(self) -> str:
        return f"{self.scope}@{self.at}/{self.span_s}"


class LogLine(models.Model):
    """A line a replica wrote, or that its node wrote about it."""

    endpoint = models.CharField(max_length=64)
    deployment = models.CharField(max_length=64)
    replica_id = models.CharField(max_length=32)
    stream = models.CharField(max_length=32)
    seq = models.BigIntegerField()
    at = models.FloatField()
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["replica_id", "stream", "seq"], name="one_row_per_log_line"
            )
        ]
        indexes = [models.Index(fields=["endpoint", "deployment", "id"], name="log_by_deployment")]

    def __str__(self) -> str:
        return self.text[:80]


class GatewayTotal(models.Model):
    """What gateways have answered of one deployment in all (``gateway_totals``)."""

    endpoint = models.CharField(max_length=64)
    deployment = models.CharField(max_length=64)  # empty: refused before one was chosen
    classes = models.JSONField(default=dict)  # status class -> answers
    within = models.JSONField(default=dict)  # bound in seconds as text -> answers that were quicker
    seconds = models.FloatField(default=0.0)
    received = models.BigIntegerField(default=0)  # bytes
    sent = models.BigIntegerField(default=0)
    held = models.BigIntegerField(default=0)  # requests that waited for a replica to wake
    wakes = models.JSONField(default=dict)  # as within: wakes that took no longer
    wake_seconds = models.FloatField(default=0.0)
    at = models.FloatField(default=0.0)  # Unix seconds of the latest

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "deployment"], name="one_total_per_deployment"
            )
        ]

    def __str__(self) -> str:
        return f"{self.endpoint}/{self.deployment}"


class Watch(models.Model):
    """Somebody has a live view of this endpoint open; agents sample faster until it expires."""

    endpoint = models.CharField(max_length=64, primary_key=True)
    expires_at = models.FloatField()

    def __str__(self) -> str:
        return self.endpoint
