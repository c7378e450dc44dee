"""JSON of why a deployment is slow."""

from rest_framework import serializers

LONGEST_S = 900
SLOW = ("queue", "compute")
FAULTY = ("rising", "failing")
AREAS = ("config", "scale", "nodes", "client", "model", "gateway")


class BottlenecksQuery(serializers.Serializer[None]):
    deployment = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="without it the one that answered most",
    )
    range = serializers.IntegerField(
        min_value=10,
        max_value=LONGEST_S,
        required=False,
        default=60,
        help_text="the last so many seconds",
    )


class PartSerializer(serializers.Serializer[None]):
    name = serializers.CharField(
        help_text="client_sends, gateway, protocol, queue, compute_input, compute_infer, "
        "compute_output, client_takes: in the order of a request's way"
    )
    us = serializers.FloatField(help_text="of a mean request")


class FindingSerializer(serializers.Serializer[None]):
    code = serializers.CharField()
    title = serializers.CharField()
    text = serializers.CharField(help_text="what was seen, with its figures")
    change = serializers.CharField(help_text="what to do about it")
    us = serializers.FloatField(help_text="what it explains of a mean request; claims overlap")
    area = serializers.ChoiceField(choices=AREAS, help_text="where it is changed")
    where = serializers.CharField(help_text="a model or a node, or empty")


class BottlenecksSerializer(serializers.Serializer[None]):
    deployment = serializers.CharField()
    seconds = serializers.FloatField()
    summary = serializers.CharField(help_text="one sentence")
    requests = serializers.IntegerField()
    refused = serializers.FloatField(help_text="requests that found a queue full")
    total_us = serializers.FloatField(
        help_text="mean, at the gateway: from a request's first byte to its answer's last"
    )
    p50_us = serializers.FloatField(allow_null=True)
    p95_us = serializers.FloatField(allow_null=True)
    p99_us = serializers.FloatField(allow_null=True)
    parts = PartSerializer(many=True)
    findings = FindingSerializer(many=True, help_text="the likeliest cause first")


class StepSerializer(serializers.Serializer[None]):
    name = serializers.CharField()
    step = serializers.BooleanField(help_text="a loaded ensemble calls it")
    executes = serializers.BooleanField(help_text="it has instances; an ensemble has none")
    request_rate = serializers.FloatField(
        allow_null=True, help_text="requests per second, whoever asks: clients, ensembles, models"
    )
    request_us = serializers.FloatField(allow_null=True, help_text="mean, from arrival to answer")
    queue_us = serializers.FloatField(allow_null=True, help_text="mean time in the queue")
    compute_us = serializers.FloatField(
        allow_null=True, help_text="mean time in batches: made, computed, split"
    )
    mean_batch = serializers.FloatField(allow_null=True, help_text="rows of an execution")
    busy = serializers.FloatField(allow_null=True, help_text="share of its instances' time")
    pending = serializers.FloatField(allow_null=True, help_text="requests that wait now")
    failure_rate = serializers.FloatField(
        help_text="failures per second; without those that clients gave up"
    )
    share = serializers.FloatField(
        allow_null=True,
        help_text="of the time that requests spend in all models that execute; without what a "
        "model waits for those that it calls",
    )
    slow = serializers.ChoiceField(
        choices=SLOW, allow_blank=True, help_text="takes most of the time: waiting, or computing"
    )
    faulty = serializers.ChoiceField(
        choices=FAULTY, allow_blank=True, help_text="fails, now more often than before or not"
    )


class ModelCallsSerializer(serializers.Serializer[None]):
    caller = serializers.CharField(help_text="a Python model that calls others (BLS)")
    callee = serializers.CharField(help_text="as the caller names it: maybe a model that is not")
    calls = serializers.FloatField(
        help_text="that ended since the replicas that run now loaded the caller"
    )
    call_rate = serializers.FloatField(allow_null=True, help_text="per second")
    per_request = serializers.FloatField(
        allow_null=True, help_text="mean number that a request of the caller leads to"
    )
    mean_us = serializers.FloatField(allow_null=True, help_text="mean, to the last answer")
    failure_rate = serializers.FloatField(
        help_text="answered with an error, per second; without those that the caller gave up"
    )
    last_at = serializers.DateTimeField(help_text="when the last one ended")


class PipelineSerializer(serializers.Serializer[None]):
    deployment = serializers.CharField()
    seconds = serializers.FloatField(help_text="that the figures are means over")
    models = StepSerializer(many=True, help_text="ensembles, then what has instances, then steps")
    calls = ModelCallsSerializer(
        many=True, help_text="of one model by another; empty: none was seen"
    )
