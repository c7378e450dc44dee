"""Values that have parts: settings by name, resources, limits, restricted parts of the API."""

from collections.abc import Iterable, Sequence

from worker_runtime.config.arguments import UsageError, bad_option, decimal, integer
from worker_runtime.config.flags.flag import Flag, Kind
from worker_runtime.config.settings import RateLimitResource
from worker_runtime.types.code import KINDS
from worker_runtime.types.listening import Category, Restriction

Pairs = dict[str, dict[str, str]]
_BYTES = Flag("", Kind.INTEGER, "", low=0, high=2**63 - 1)


def backend_settings(items: Iterable[str]) -> Pairs:
    """``[<backend>,]<setting>=<value>``; the name "" stands for all backends."""
    form = "--backend-config option format is"
    settings: Pairs = {}
    for item in items:
        if item.startswith(","):
            raise bad_option(
                "backend-config",
                f"No backend specified. {form} <backend name>,<setting>=<value> or "
                f"<setting>=<value>. Got {item}",
            )
        name, setting, value = _named(item)
        if not setting or not value:
            raise bad_option(
                "backend-config", f"{form} '<backend name>,<setting>=<value>'. Got {item}"
            )
        settings.setdefault(name, {})[setting] = value
    _check_batch_size(settings)
    return settings


def _check_batch_size(settings: Pairs) -> None:
    for values in settings.values():
        size = values.get("default-max-batch-size")
        if size is not None:
            integer("backend-config", size)


def cache_config(items: Iterable[str]) -> Pairs:
    """``<cache>,<setting>=<value>``."""
    form = "--cache-config option format is"
    settings: Pairs = {}
    for item in items:
        name, setting, value = _named(item)
        if not name:
            raise bad_option(
                "cache-config",
                f"No cache specified. {form} <cache name>,<setting>=<value>. Got {item}",
            )
        if not setting or not value:
            raise bad_option("cache-config", f"{form} '<cache name>,<setting>=<value>'. Got {item}")
        settings.setdefault(name, {})[setting] = value
    return settings


def _named(item: str) -> tuple[str, str, str]:
    """Name ("" without one), setting and value ("" when not in the form)."""
    name, comma, rest = item.partition(",")
    if not comma:
        name, rest = "", item
    setting, equals, value = rest.partition("=")
    return (name, setting, value) if equals else (name, "", "")


def host_policies(items: Iterable[str]) -> Pairs:
    """``<policy>,<setting>=<value>``."""
    policies: Pairs = {}
    for item in items:
        name, setting, value = _three("host-policy", item, ",", "policy name")
        policies.setdefault(name, {})[setting] = value
    return policies


def restrictions(flag: str, kind: str, items: Iterable[str]) -> dict[Category, Restriction]:
    """``<part>[,<part>...]:<key>=<value>``; a part is in one group at most."""
    found: dict[Category, Restriction] = {}
    for item in items:
        parts, key, value = _three(flag, item, ":", "config name")
        for part in parts.split(","):
            if part not in set(Category):
                raise bad_option(
                    flag, f"unknown restricted {kind} '{part}' \nExpected {', '.join(Category)}"
                )
            category = Category(part)
            if category in found:
                raise bad_option(
                    flag,
                    f"restricted {kind} '{part}' can not be specified in multiple config groups",
                )
            found[category] = Restriction(key, value)
    return found


def _three(flag: str, item: str, delimiter: str, what: str) -> tuple[str, str, str]:
    name, found, rest = item.partition(delimiter)
    setting, equals, value = rest.partition("=")
    if not (found and equals and name and setting and value):
        raise bad_option(
            flag, f"--{flag} option format is '<{what}>{delimiter}<setting>=<value>'. Got {item}"
        )
    return name, setting, value


def rate_limit_resources(items: Iterable[str]) -> tuple[RateLimitResource, ...]:
    """``<name>:<count>[:<device>]``."""
    found = []
    flag = "rate-limit-resource"
    for item in items:
        name, *rest = item.split(":")
        if len(rest) not in (1, 2):
            raise bad_option(
                flag,
                f"--{flag} option format is '<resource_name>:<count>:<device>' or "
                f"'<resource_name>:<count>'. Got {item}",
            )
        numbers = [integer(flag, part) for part in rest]
        found.append(RateLimitResource(name, *numbers))
    return tuple(found)


def gpu_limits(items: Iterable[str]) -> dict[int, float]:
    """``<device>:<fraction>``; the first one of a device counts, as in Triton."""
    flag = "model-load-gpu-limit"
    limits: dict[int, float] = {}
    for item in items:
        first, second = _pair(flag, item, ":")
        device, fraction = integer(flag, first), decimal(flag, second)
        if device < 0:
            raise bad_option(flag, f"expects device ID >= 0, got {first}")
        if not 0 <= fraction <= 1:
            raise bad_option(
                flag, f"expects limit fraction to be in range [0.0, 1.0], got {second}"
            )
        limits.setdefault(device, fraction)
    return limits


def check_pools(flag: str, items: Iterable[str]) -> None:
    """``<GPU>:<bytes>``."""
    for item in items:
        first, second = _pair(flag, item, ":")
        integer(flag, first)
        integer(flag, second, _BYTES)


def port_ranges(flag: str, items: Iterable[str]) -> list[tuple[int, int]]:
    """``<integer>-<integer>``."""
    pairs = [_pair(flag, item, "-") for item in items]
    return [(integer(flag, low), integer(flag, high)) for low, high in pairs]


def _pair(flag: str, item: str, delimiter: str) -> tuple[str, str]:
    first, found, second = item.partition(delimiter)
    if not found:
        raise bad_option(
            flag,
            "Cannot parse pair option due to incorrect number of inputs."
            f"--<pair option> argument requires format <first>{delimiter}<second>. Found: {item}",
        )
    return first, second


def metrics_pairs(items: Iterable[str]) -> list[tuple[str, str]]:
    """``<setting>=<value>``."""
    found = []
    for item in items:
        setting, equals, value = item.partition("=")
        if not (equals and setting and value) or "," in setting:
            raise bad_option(
                "metrics-config",
                f"--metrics-config option format is <setting>=<value>. Got {item}",
            )
        found.append((setting, value))
    return found


def quantiles(value: str) -> tuple[tuple[float, float], ...]:
    """``<quantile>:<error>[,...]``."""
    found = []
    for item in value.split(","):
        quantile, colon, error = item.partition(":")
        if not colon:
            raise UsageError(
                f"Invalid option: [{item}]. No ':' delimiter found. "
                "Expected format is <quantile>:<error>"
            )
        pair = decimal("metrics-config", quantile), decimal("metrics-config", error)
        if not all(0 <= part <= 1 for part in pair):
            reason = f"Invalid option: [{item}]. Expected numbers from 0 to 1"
            raise bad_option("metrics-config", reason)
        found.append(pair)
    return tuple(found)


def allowed_code(items: Sequence[str]) -> frozenset[str] | None:
    """``<kind>,<kind>``; of several, what all of them allow: none widens another.

    None without any: everything.
    """
    if not items:
        return None
    allowed = frozenset(KINDS)
    for item in items:
        kinds = frozenset(kind.strip() for kind in item.split(",") if kind.strip())
        for kind in sorted(kinds - set(KINDS)):
            raise bad_option("allow-code", f"unknown kind {kind}\nexpected {', '.join(KINDS)}")
        allowed &= kinds
    return allowed
