"""What somebody asks of the autoscaler, checked once; rows keep it as JSON."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

# why cronsim: kept up, no dependencies, backwards in time as well, summer time as Debian's cron
from cronsim import CronSim, CronSimError

from controlplane.core.errors import Invalid

MOST_REPLICAS: Final = 1000
MOST_SCHEDULES: Final = 20
LONGEST_S: Final = 3600
LEAST_INTERVAL_S: Final = 2
SOON_S: Final = 0.5  # between two looks, and two samples, while more load comes
LONGEST_INTERVAL_S: Final = 60
CRON_FIELDS: Final = 5
IDLE_RANGES: Final = {"after_s": (10, 86_400), "hold_s": (1, 300), "most_held": (1, 10_000)}
# Target -> the most that makes sense of it.
MOST_OF: Final[Mapping[str, float]] = {
    "in_flight": 100_000,
    "requests_per_second": 10_000_000,
    "queue_ms": 3_600_000,
    "cpu_percent": 100,
    "gpu_percent": 100,
}


@dataclass(frozen=True, slots=True)
class Targets:
    """What one replica shall carry; None: that does not count. The one that wants most replicas
    wins.

    ``in_flight``: requests at a time. ``queue_ms``: mean wait in the queue, milliseconds.
    ``cpu_percent``: of the processors of its instance type, or else of its node.
    ``gpu_percent``: of the GPUs that it may use.
    """

    in_flight: float | None = None
    requests_per_second: float | None = None
    queue_ms: float | None = None
    cpu_percent: float | None = None
    gpu_percent: float | None = None

    def set(self) -> dict[str, float]:
        """Those that count, by name."""
        return {name: value for name in MOST_OF if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Side:
    """How quickly it goes one way.

    ``window_s``: so long the load must have asked for it. ``cooldown_s``: so long nothing happens
    after any change. ``per_minute``: replicas at most; None: as many as are wanted.
    """

    window_s: int
    cooldown_s: int
    per_minute: int | None = None


SIDES: Final = {
    "up": Side(window_s=0, cooldown_s=15),
    "down": Side(window_s=300, cooldown_s=60),
}


@dataclass(frozen=True, slots=True)
class Idle:
    """What ``min: 0`` means. ``after_s``: without a request for so long, no replica is left.

    A request wakes one and waits at its gateway meanwhile: ``hold_s`` at most, and ``most_held``
    of the deployment at a time, at each gateway. All others are told to come again (503).
    """

    after_s: int = 900
    hold_s: int = 60
    most_held: int = 1000


@dataclass(frozen=True, slots=True)
class Schedule:
    """From each time of ``start`` to the next one of ``end``, both cron in ``time_zone``, ``min``
    is at least this, and ``max`` this in place of the policy's."""

    start: str
    end: str
    min: int
    max: int | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Raises Invalid, which names the field, its value and what was expected."""

    max: int
    targets: Targets
    min: int = 1  # 0: see ``Idle``; ``schedules`` may want more meanwhile
    enabled: bool = True
    tolerance_percent: int = 10
    interval_s: int = LEAST_INTERVAL_S
    up: Side = SIDES["up"]
    down: Side = SIDES["down"]
    idle: Idle = Idle()
    schedules: tuple[Schedule, ...] = ()

    def rest_s(self, *, soon: bool) -> float:
        """Until the next look; ``soon``: the last one wants it early. Who asks for rare ones gets
        them."""
        return SOON_S if soon and self.interval_s == LEAST_INTERVAL_S else self.interval_s

    def __post_init__(self) -> None:
        _whole("min", self.min, 0, MOST_REPLICAS)
        _whole("max", self.max, max(self.min, 1), MOST_REPLICAS)
        _whole("tolerance_percent", self.tolerance_percent, 0, 50)
        _whole("interval_s", self.interval_s, LEAST_INTERVAL_S, LONGEST_INTERVAL_S)
        counted = self.targets.set()
        if not counted and not self.schedules and self.min:
            raise _invalid("targets", f"none is set, expected one or more of {', '.join(MOST_OF)}")
        for name, value in counted.items():
            if not 0 < value <= MOST_OF[name]:
                wanted = f"expected more than 0, and at most {MOST_OF[name]:g}"
                raise _invalid(f"targets.{name}", f"{value:g}, {wanted}")
        for name, side in (("up", self.up), ("down", self.down)):
            _whole(f"{name}.window_s", side.window_s, 0, LONGEST_S)
            _whole(f"{name}.cooldown_s", side.cooldown_s, 0, LONGEST_S)
            if side.per_minute is not None:
                _whole(f"{name}.per_minute", side.per_minute, 1, MOST_REPLICAS)
        for name, (least, most) in IDLE_RANGES.items():
            _whole(f"idle.{name}", getattr(self.idle, name), least, most)
        if len(self.schedules) > MOST_SCHEDULES:
            raise _invalid("schedules", f"{len(self.schedules)}, expected at most {MOST_SCHEDULES}")
        for index, schedule in enumerate(self.schedules):
            _schedule_check(f"schedules.{index}", schedule, self)

    @property
    def widest(self) -> int:
        """The most replicas that it may ever want."""
        return max([self.max, *(one.max or 0 for one in self.schedules)])


def _schedule_check(where: str, schedule: Schedule, policy: Policy) -> None:
    if schedule.time_zone not in _zones():
        wanted = "expected a name of the IANA database, such as Europe/Berlin"
        raise _invalid(f"{where}.time_zone", f"{schedule.time_zone!r}, {wanted}")
    for name in ("start", "end"):
        _cron_check(f"{where}.{name}", getattr(schedule, name), schedule.time_zone)
    most = policy.max if schedule.max is None else schedule.max
    if schedule.max is not None:
        _whole(f"{where}.max", schedule.max, 1, MOST_REPLICAS)
    _whole(f"{where}.min", schedule.min, 1, most)


@cache
def _zones() -> set[str]:
    return available_timezones()


def _cron_check(where: str, text: str, zone: str) -> None:
    if why := _cron_problem(text, zone):
        wanted = "expected five fields of cron, such as `0 8 * * 1-5`"
        raise _invalid(where, f"{text!r}: {why}; {wanted}")


@lru_cache(maxsize=1024)
def _cron_problem(text: str, zone: str) -> str:
    if len(text.split()) != CRON_FIELDS:
        return f"{len(text.split())} fields"
    try:
        next(CronSim(text, datetime(2000, 1, 1, tzinfo=UTC).astimezone(ZoneInfo(zone))))
    except CronSimError as error:
        return str(error)
    except StopIteration:
        return "it never comes"
    return ""


def _whole(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise _invalid(name, f"{value}, expected {least} to {most}")


def _invalid(name: str, text: str) -> Invalid:
    return Invalid(f"autoscale.{name}: {text}.", field=f"autoscale.{name}")


def policy_to_json(policy: Policy) -> dict[str, Any]:
    """As rows keep it, REST shows it and files say it."""
    told = asdict(policy)
    return told | {"schedules": [asdict(one) for one in policy.schedules]}


def policy_from_json(told: Mapping[str, Any]) -> Policy:
    """What is left out has its default. Raises Invalid."""
    values = _known(Policy, told, "")
    values["targets"] = Targets(**_known(Targets, told.get("targets") or {}, "targets."))
    for name, default in SIDES.items():
        said = {**asdict(default), **(told.get(name) or {})}
        values[name] = Side(**_known(Side, said, f"{name}."))
    values["idle"] = Idle(**_known(Idle, told.get("idle") or {}, "idle."))
    values["schedules"] = tuple(
        Schedule(**_known(Schedule, one, f"schedules.{index}."))
        for index, one in enumerate(told.get("schedules") or ())
    )
    return Policy(**values)


def _known(kind: type[Any], told: Mapping[str, Any], where: str) -> dict[str, Any]:
    """``told`` by name. Raises Invalid for a name that ``kind`` has not, and one that it misses."""
    names = {part.name for part in fields(kind)}
    if strange := sorted(set(told) - names):
        raise _invalid(f"{where}{strange[0]}", f"no such key, expected {', '.join(sorted(names))}")
    needed = {part.name for part in fields(kind) if part.default is MISSING} - {"targets"}
    if missing := sorted(needed - set(told)):
        raise _invalid(f"{where}{missing[0]}", "it is missing")
    return dict(told)
