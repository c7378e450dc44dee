"""How a deployment runs and is asked: limits of requests, variables, probes."""

from typing import Any

from rest_framework import serializers

from controlplane.deployments.naming import variable_problem
from controlplane.deployments.serializers.limits import RangeField
from controlplane.deployments.serializers.probes import ProbeFields

LIMIT_CONCURRENCY = 10_000
LIMIT_TIMEOUT_MS = 3_600_000
DEFAULT_TIMEOUT_MS = 60_000
LIMIT_SECRET_CHARS = 65_536


class ConcurrencyField(RangeField):
    """How many requests one replica works on at a time; as many again may wait for it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            required=False,
            allow_null=True,
            least=1,
            most=LIMIT_CONCURRENCY,
            help_text="as many again may wait, more get 429; null: no limit but the gateway's own",
            **options,
        )


class TimeoutField(RangeField):
    """Milliseconds that an answer may take; the gateway then says 504 in its place."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, least=1, most=LIMIT_TIMEOUT_MS, **options)


class QueueWaitField(RangeField):
    """Milliseconds that a request may wait in the queue of one model; 0 is None: no cap."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            required=False,
            allow_null=True,
            least=0,
            most=LIMIT_TIMEOUT_MS,
            help_text="who waits longer gets 429 at the scoring URI, Triton's 503 below v2; null "
            "or 0: as long as the models allow. A change starts new replicas",
            **options,
        )

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return super().run_validation(data) or None


class VariablesField(serializers.DictField):
    """Environment variables by name; a name that no process can be given is refused."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        if problems := {name: why for name in value or () if (why := variable_problem(name))}:
            raise serializers.ValidationError(problems)
        return value


class SecretsField(VariablesField):
    """The same, write-only; null takes one away."""

    def __init__(self, **options: Any) -> None:
        child = serializers.CharField(
            allow_null=True, max_length=LIMIT_SECRET_CHARS, trim_whitespace=False
        )
        super().__init__(child=child, required=False, default=dict, **options)


class SettingsFields(ProbeFields):
    """Of a deployment that is made."""

    environment = VariablesField(child=serializers.CharField(), required=False, default=dict)
    secret_environment = SecretsField(
        help_text="kept encrypted, never shown; those that are not named stay, null removes one",
    )
    request_timeout_ms = TimeoutField(default=DEFAULT_TIMEOUT_MS)
    max_concurrent_requests_per_instance = ConcurrencyField(default=None)
    max_queue_wait_ms = QueueWaitField(default=None)
    retries = serializers.BooleanField(required=False, default=True)
