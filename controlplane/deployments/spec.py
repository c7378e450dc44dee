"""What a deployment shall be: every setting of one, declared once.

REST, revisions, what nodes and gateways are told, and whether something runs as asked are made from
these declarations; docs/architecture.md has the recipe for a new one.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import Enum
from typing import Any, Final

from django.db.models import TextChoices

from controlplane.autoscaling import policy_from_json
from controlplane.core.errors import Invalid
from controlplane.deployments.capturing import capture_from_json
from controlplane.deployments.probes import Probe
from controlplane.deployments.types import AntiAffinity

LONGEST_MS: Final = 3_600_000
LARGEST_CACHE: Final = 2**40


class Applies(Enum):
    """What a change of a setting takes."""

    AT_ONCE = "no node and no gateway acts on it"
    GATEWAYS = "gateways act on it within seconds"
    REPLICAS = "new replicas, by a rollout: it is part of a revision"


class Kind(Enum):
    """What a value is, where that needs no numbers."""

    SWITCH = "true or false"
    TEXT = "a text"
    NAME = "the name of something else, or an empty text"
    TEXTS = "texts by name"
    VARIABLES = "environment variables by name"
    SECRETS = "the same, write-only; null takes one away"
    PROBE = "the fields of a probe, or null"
    POLICY = "the fields of a policy of the autoscaler, or null"
    CAPTURE = "what is captured, or null"
    DECLARED = "whatever a client keeps here"


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number; ``none_is_zero``: 0 takes the setting away, as null does."""

    least: int
    most: int
    none_is_zero: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    options: type[TextChoices]


@dataclass(frozen=True, slots=True)
class Setting:
    """``help`` says what a new deployment takes, ``change_help`` what a change does (None: the
    same), ``shown_help`` what is read.

    ``agent_field``: the field of ``wire.messages.DesiredReplica`` in which nodes hear of it,
    empty: they do not. ``argument``: of the runtime. ``yaml``: its place in a deployment's file.
    """

    value: Kind | Number | Choice
    applies: Applies
    default: Any = None
    help: str = ""
    change_help: str | None = None
    shown_help: str = ""
    argument: str = ""
    agent_field: str = ""
    yaml: str = ""


def _setting(value: Kind | Number | Choice, applies: Applies, **more: str) -> dict[str, Setting]:
    return {"setting": Setting(value, applies, **more)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How replicas shall run: what a revision keeps beside its model, its instance type and its
    secrets."""

    node_labels: dict[str, str] = field(
        default_factory=dict,
        metadata=_setting(
            Kind.TEXTS,
            Applies.REPLICAS,
            help="only nodes with all these labels run it",
            change_help="",
        ),
    )
    anti_affinity: str = field(
        default=AntiAffinity.PREFERRED.value,
        metadata=_setting(
            Choice(AntiAffinity),
            Applies.REPLICAS,
            help="`required`: never two replicas on one node",
            change_help="",
        ),
    )
    liveness_probe: Probe | None = field(
        default=None,
        metadata=_setting(
            Kind.PROBE,
            Applies.REPLICAS,
            help="a runtime that fails it is ended and started again",
            change_help="",
            agent_field="liveness",
            yaml="liveness_probe",
        ),
    )
    readiness_probe: Probe | None = field(
        default=None,
        metadata=_setting(
            Kind.PROBE,
            Applies.REPLICAS,
            help="a replica that fails it gets no requests",
            change_help="",
            agent_field="readiness",
            yaml="readiness_probe",
        ),
    )
    environment: dict[str, str] = field(
        default_factory=dict,
        metadata=_setting(
            Kind.VARIABLES,
            Applies.REPLICAS,
            agent_field="environment",
            yaml="environment_variables",
        ),
    )
    max_queue_wait_ms: int | None = field(
        default=None,
        metadata=_setting(
            Number(0, LONGEST_MS, none_is_zero=True),
            Applies.REPLICAS,
            help="who waits longer gets 429 at the scoring URI, Triton's 503 below v2; null "
            "or 0: as long as the models allow. A change starts new replicas",
            shown_help="null: requests wait as long as the models allow",
            argument="--max-queue-wait-ms={}",
            agent_field="runtime_args",
            yaml="request_settings.max_queue_wait_ms",
        ),
    )
    response_cache_bytes: int | None = field(
        default=None,
        metadata=_setting(
            Number(1024, LARGEST_CACHE),
            Applies.REPLICAS,
            help="memory of each replica for answers to requests that it has seen, of models whose "
            "configuration enables `response_cache`; null: none. A change starts new replicas",
            shown_help="null: no answers are kept",
            argument="--cache-config=local,size={}",
            agent_field="runtime_args",
            yaml="response_cache_bytes",
        ),
    )
    capture: dict[str, Any] | None = field(
        default=None,
        metadata=_setting(
            Kind.CAPTURE,
            Applies.REPLICAS,
            help="a sample of the requests and answers is kept, and statistics of them are made; "
            "null: none. A change starts new replicas",
            shown_help="null: no requests are captured",
            agent_field="capture",
            yaml="capture",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec(RunSettings):
    """What somebody asks for. ``traffic`` is the percent that it gets once it is ready;
    ``rollout`` gives it traffic step by step from then on, as ``rollouts.plan_asked`` takes it.

    ``instance_count`` None: not said; ``count`` says what that is. Raises Invalid for a number out
    of its range, for a choice that there is not, and for a policy that cannot be.
    """

    model: str
    version: str = "latest"
    config_revision: int | None = None
    instance_count: int | None = None
    traffic: int = 0
    rollout: dict[str, Any] | None = None
    instance_type: str = field(
        default="",
        metadata=_setting(
            Kind.NAME,
            Applies.REPLICAS,
            help="a name or an alias, such as STANDARD_NC4AS_T4_V3; default: any node",
            change_help="a name or an alias; empty: any node",
            yaml="instance_type",
        ),
    )
    secret_environment: dict[str, str | None] = field(
        default_factory=dict,
        metadata=_setting(
            Kind.SECRETS,
            Applies.REPLICAS,
            help="kept encrypted, never shown; those that are not named stay, null removes one",
            change_help="",
            shown_help="names; values are never shown",
            agent_field="environment",
        ),
    )
    request_timeout_ms: int = field(
        default=60_000,
        metadata=_setting(
            Number(1, LONGEST_MS), Applies.GATEWAYS, yaml="request_settings.request_timeout_ms"
        ),
    )
    max_concurrent_requests_per_instance: int | None = field(
        default=None,
        metadata=_setting(
            Number(1, 10_000),
            Applies.GATEWAYS,
            help="as many again may wait, more get 429; null: no limit but the gateway's own",
            shown_help="null: no limit but the gateway's own",
            yaml="request_settings.max_concurrent_requests_per_instance",
        ),
    )
    retries: bool = field(default=True, metadata=_setting(Kind.SWITCH, Applies.GATEWAYS))
    description: str = field(
        default="", metadata=_setting(Kind.TEXT, Applies.AT_ONCE, yaml="description")
    )
    tags: dict[str, str] = field(
        default_factory=dict, metadata=_setting(Kind.TEXTS, Applies.AT_ONCE, yaml="tags")
    )
    declared: dict[str, Any] = field(
        default_factory=dict, metadata=_setting(Kind.DECLARED, Applies.AT_ONCE)
    )
    autoscale: dict[str, Any] | None = field(
        default=None,
        metadata=_setting(
            Kind.POLICY,
            Applies.AT_ONCE,
            help="how many replicas it has is decided from what they carry; null: people decide",
            shown_help="null: people decide how many replicas it has",
            yaml="autoscale",
        ),
    )

    def __post_init__(self) -> None:
        for name, setting in SETTINGS.items():
            if why := problem(setting, getattr(self, name)):
                raise Invalid(f"{name}: {why}", field=name)
        if self.autoscale is not None:
            policy_from_json(self.autoscale)
        if self.capture is not None:
            capture_from_json(self.capture)

    def count(self, running: int | None = None) -> int:
        """Replicas: as said, else as many as are ``running`` under a policy, or as it has at
        least; without one, 1."""
        if self.instance_count is not None:
            return self.instance_count
        if self.autoscale is None:
            return 1
        policy = policy_from_json(self.autoscale)
        if running == 0 or (running is not None and not policy.enabled):
            return running
        # why one at least: what is new shows that it runs before it may be idle
        return min(max(running or 0, policy.min, 1), policy.widest)


def _default(part: Field[Any]) -> Any:
    return part.default if part.default_factory is MISSING else part.default_factory()


SETTINGS: Final[dict[str, Setting]] = {
    part.name: replace(part.metadata["setting"], default=_default(part))
    for part in fields(Spec)
    if "setting" in part.metadata
}


def problem(setting: Setting, value: Any) -> str | None:
    """What is wrong with a number or a choice; None when nothing is."""
    match setting.value:
        case Number(least, most) if value is not None and not least <= value <= most:
            return f"{value} is out of range: expected {least} to {most}."
        case Choice(options) if value not in options.values:
            return f"{value!r}, expected one of {', '.join(options.values)}."
    return None


def settings_that(*applies: Applies) -> tuple[str, ...]:
    """Names of the settings whose change takes that."""
    return tuple(name for name, setting in SETTINGS.items() if setting.applies in applies)


DESCRIPTIVE: Final = settings_that(Applies.AT_ONCE)
ROUTED: Final = settings_that(Applies.GATEWAYS)
REVISIONED: Final = settings_that(Applies.REPLICAS)
RUN_SETTINGS: Final = tuple(part.name for part in fields(RunSettings))


def settings_to_json(settings: RunSettings) -> dict[str, Any]:
    """As rows keep it."""
    return {name: getattr(settings, name) for name in RUN_SETTINGS}


def settings_from_json(kept: Mapping[str, Any]) -> RunSettings:
    """What rows keep; a setting that was not known then has its default."""
    return RunSettings(**{name: kept[name] for name in RUN_SETTINGS if name in kept})
