"""``--trace-config`` and the flags that it replaced."""

from collections.abc import Iterator

from worker_runtime.config.arguments import Values, bad_option, integer
from worker_runtime.config.settings import SPAN_BATCHING, variable
from worker_runtime.observability.tracing.config import Level, Mode, TraceConfig

_TIMESTAMPS = frozenset(("true", "on", "min", "max", "timestamps"))
_INSTEAD = {
    "trace-file": "triton,file=<filepath>",
    "trace-level": "level=<OFF|TIMESTAMPS|TENSORS>",
    "trace-rate": "rate=<rate value>",
    "trace-count": "count=<count value>",
    "trace-log-frequency": "triton,log-frequency=<log frequency value>",
}


def trace_config(take: Values) -> TraceConfig:
    """New flags win over deprecated ones; OFF wins over every other level."""
    groups: dict[str, list[tuple[str, str]]] = {"": [], Mode.TRITON: [], Mode.OPENTELEMETRY: []}
    for item in take.many("trace-config"):
        mode, setting, value = _split(item)
        groups[mode].append((setting, value))
    common = groups[""]
    names = [("trace-level", level) for level in take.many("trace-level")]
    names += [("trace-config level", value) for key, value in common if key == "level"]
    levels, off = set(), False
    for name, text in names:
        level = _level(name, text)
        off = off or level is None
        if level is not None:
            levels.add(level)
    mode = Mode.TRITON
    rate, count = take.number("trace-rate"), take.number("trace-count")
    for key, value in common:
        if key == "rate":
            rate = integer("trace-config rate", value)
        elif key == "count":
            count = integer("trace-config count", value)
        elif key == "mode":
            mode = _mode("trace-config mode", value)
    file, frequency = take.text("trace-file"), take.number("trace-log-frequency")
    for key, value in groups[Mode.TRITON] if mode is Mode.TRITON else ():
        if key == "file":
            file = value
        elif key == "log-frequency":
            frequency = integer("trace-config triton,log-frequency", value)
    return TraceConfig(
        mode=mode,
        levels=frozenset() if off else frozenset(levels),
        rate=rate,
        count=count,
        log_frequency=frequency,
        file=file,
        options=tuple(groups[mode] + (_batching(groups[mode]) if mode is not Mode.TRITON else [])),
    )


def _batching(given: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of spans: what was given wins over the environment. Raises UsageError."""
    names = {name for name, _ in given}
    found = [
        (name, text)
        for name, source in SPAN_BATCHING.items()
        if name not in names and (text := variable(source))
    ]
    for name, text in (*given, *found):
        if name in SPAN_BATCHING:
            integer(f"trace-config opentelemetry,{name}", text)
    return found


def deprecations(take: Values) -> Iterator[str]:
    """What Triton prints about the old flags that were given."""
    for name, instead in _INSTEAD.items():
        if take.given(name):
            yield (
                f"Warning: '--{name}' has been deprecated and will be removed in future releases. "
                f"Please use '--trace-config {instead} instead."
            )


def _split(item: str) -> tuple[str, str, str]:
    """``[<mode>,]<setting>=<value>``, where the value may hold commas and equals signs."""
    form = "--trace-config option format is"
    mode = ""
    rest = item
    if "," in item:
        first, _, rest = item.partition(",")
        if not first:
            raise bad_option(
                "trace-config",
                f"No trace mode specified. {form} <trace mode>,<setting>=<value> or "
                f"<setting>=<value>. Got {item}",
            )
        mode = _mode("trace-config", first)
    setting, equals, value = rest.partition("=")
    if not (equals and setting and value):
        raise bad_option("trace-config", f"{form} '<trace mode>,<setting>=<value>'. Got {item}")
    return mode, setting, value


def _mode(flag: str, text: str) -> Mode:
    lower = text.lower()
    if lower not in set(Mode):
        raise bad_option(
            flag,
            f"invalid value for trace mode option: {lower}. "
            'Available options are "triton" and "opentelemetry"',
        )
    return Mode(lower)


def _level(flag: str, text: str) -> Level | None:
    """None: tracing is off, whatever else was given."""
    lower = text.lower()
    if lower in ("false", "off"):
        return None
    if lower in _TIMESTAMPS:
        return Level.TIMESTAMPS
    if lower == "tensors":
        return Level.TENSORS
    raise bad_option(
        flag,
        f"invalid value for trace level option: {lower}\nExpected OFF, TIMESTAMPS or TENSORS",
    )
