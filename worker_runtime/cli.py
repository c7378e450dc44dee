"""Command line to Settings: ``--flag=value`` and ``--flag value``, as Triton takes them."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from worker_runtime.flags import BY_NAME, FLAGS, REFUSED, Flag
from worker_runtime.settings import Listener, Settings

_TRUE, _FALSE = {"true", "1", "on", "yes"}, {"false", "0", "off", "no"}
# Without effect here, but nothing to tell people about: Triton's own defaults do the same.
_SILENT = {"metrics-interval-ms", "allow-gpu-metrics"}


class UsageError(ValueError):
    """The command line is wrong; the text says how to put it right."""


class HelpRequested(Exception):
    pass


def parse(arguments: Sequence[str]) -> Settings:
    """Settings from the arguments behind the program's name. Raises UsageError, HelpRequested."""
    values: dict[str, list[str]] = {}
    todo = list(arguments)
    while todo:
        flag, value = _take(todo)
        values.setdefault(flag.name, []).append(value)
    if "help" in values:
        raise HelpRequested
    return _settings(values)


def _take(todo: list[str]) -> tuple[Flag, str]:
    word = todo.pop(0)
    if word in ("-h", "--help"):
        return BY_NAME["help"], "true"
    if not word.startswith("--"):
        raise UsageError(f"unexpected argument '{word}'")
    name, equals, value = word[2:].partition("=")
    if name in REFUSED:
        raise UsageError(f"--{name}: {REFUSED[name]}")
    flag = BY_NAME.get(name)
    if flag is None:
        close = difflib.get_close_matches(name, BY_NAME, n=1)
        hint = f": did you mean --{close[0]}?" if close else " (--help lists all)"
        raise UsageError(f"unknown option --{name}{hint}")
    if equals:
        return flag, value
    if flag.bare or (flag.kind == "bool" and not (todo and todo[0].lower() in _TRUE | _FALSE)):
        return flag, "true"
    if not todo or todo[0].startswith("--"):
        raise UsageError(f"--{name} needs a value")
    return flag, todo.pop(0)


class _Values:
    def __init__(self, values: dict[str, list[str]]) -> None:
        self._values = values

    def many(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def text(self, name: str) -> str:
        return self._values.get(name, [BY_NAME[name].default])[-1]

    def flag(self, name: str) -> bool:
        value = self.text(name).lower()
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        raise UsageError(f"--{name}: '{value}' is not a boolean: true or false")

    def number(self, name: str, highest: int = 2**63) -> int:
        value = self.text(name)
        if not value.isdigit() or int(value) > highest:
            raise UsageError(f"--{name}: '{value}' is not a whole number up to {highest}")
        return int(value)

    def listener(self, kind: str, address: str = "") -> Listener:
        port = self.number(f"{kind}-port", 65535)
        return Listener(self.text(f"{kind}-address") or address, port, self.flag(f"allow-{kind}"))


def _settings(values: dict[str, list[str]]) -> Settings:
    take = _Values(values)
    repositories = tuple(
        Path(path) for path in (*take.many("model-repository"), *take.many("model-store"))
    )
    if not repositories:
        raise UsageError("--model-repository must be specified")
    for path in repositories:
        if not path.is_dir():
            raise UsageError(f"--model-repository: {path} is not a directory")
    http = take.listener("http")
    explicit, load_models = _control(take)
    warnings = [
        f"--{name} has no effect here"
        for name in values
        if BY_NAME[name].kind == "ignored" and name not in _SILENT
    ]
    return Settings(
        repositories=repositories,
        http=http,
        grpc=take.listener("grpc"),
        metrics=take.listener("metrics", http.address),
        server_id=take.text("id"),
        explicit=explicit,
        load_models=load_models,
        exit_on_error=take.flag("exit-on-error"),
        strict_readiness=take.flag("strict-readiness"),
        auto_complete=not (
            take.flag("disable-auto-complete-config") or take.flag("strict-model-config")
        ),
        config_name=take.text("model-config-name"),
        load_threads=max(1, take.number("model-load-thread-count", 1024)),
        exit_timeout_s=take.number("exit-timeout-secs", 10**6),
        max_input_bytes=max(1, take.number("http-max-input-size")),
        cpu_metrics=take.flag("allow-cpu-metrics"),
        log_verbose=take.number("log-verbose", 1000),
        log_info=take.flag("log-info"),
        log_warning=take.flag("log-warning"),
        log_iso8601=take.text("log-format").upper() == "ISO8601",
        log_file=take.text("log-file"),
        ready_file=Path(take.text("ready-file")) if take.text("ready-file") else None,
        backend_settings=_backend_settings(take.many("backend-config")),
        warnings=tuple(warnings),
    )


def _control(take: _Values) -> tuple[bool, tuple[str, ...] | None]:
    mode, names = take.text("model-control-mode"), take.many("load-model")
    if mode == "poll":
        raise UsageError("--model-control-mode=poll is not available: use none or explicit")
    if mode not in ("none", "explicit"):
        raise UsageError(f"--model-control-mode: '{mode}' is not none or explicit")
    if mode == "none":
        if names:
            raise UsageError("--load-model needs --model-control-mode=explicit")
        return False, None
    if "*" in names:
        if len(names) > 1:
            raise UsageError("--load-model=* cannot be combined with other --load-model")
        return True, None
    return True, tuple(names)


def _backend_settings(items: list[str]) -> dict[str, dict[str, str]]:
    settings: dict[str, dict[str, str]] = {}
    for item in items:
        backend, comma, rest = item.partition(",")
        if not comma:
            backend, rest = "", item
        key, equals, value = rest.partition("=")
        if not equals or not key:
            raise UsageError(f"--backend-config: '{item}' is not [<backend>,]<key>=<value>")
        settings.setdefault(backend, {})[key] = value
    value = settings.get("onnxruntime", settings.get("", {})).get("default-max-batch-size", "0")
    if not value.isdigit():
        raise UsageError(f"--backend-config: default-max-batch-size '{value}' is not a number")
    return settings


def help_text() -> str:
    """All flags, grouped."""
    lines = ["usage: python -m worker_runtime --model-repository DIR [--flag=value ...]", ""]
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        members = [flag for flag in FLAGS if flag.group == group]
        lines.append(f"{group}:")
        if members[0].kind == "ignored":
            lines.extend(f"  --{flag.name}" for flag in members)
        else:
            lines.extend(
                f"  --{flag.name:30} {flag.text}" + (f" [{flag.default}]" if flag.default else "")
                for flag in members
            )
        lines.append("")
    return "\n".join(lines)
