"""What a server says about itself once it has started: Triton's tables, in its order."""

import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from worker_runtime.backends.catalog import CATALOG
from worker_runtime.config.settings import Settings
from worker_runtime.core.engine import EXTENSIONS, SERVER_VERSION
from worker_runtime.types.backends import SHARED_FILE, shared_backends, third_party


def tables(settings: Settings, index: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Repository agents, backends, models, options. ``index`` as `Engine.index` gives it."""
    yield table(("Repository Agent", "Path"), [])
    yield table(("Backend", "Path", "Config"), _backends(settings))
    yield table(("Model", "Version", "Status"), _models(index))
    yield table(("Option", "Value"), _options(settings))


def _models(index: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    rows = []
    for row in index:
        state, reason = row.get("state", ""), row.get("reason", "")
        if state:  # what was never asked for is not listed
            status = f"{state}: {reason}" if reason else str(state)
            rows.append((str(row["name"]), str(row.get("version") or "-"), status))
    return rows


def _backends(settings: Settings) -> list[tuple[str, str, str]]:
    common = dict(settings.backend_settings.get("", {}))
    common.setdefault("auto-complete-config", str(settings.auto_complete).lower())
    common.setdefault("default-max-batch-size", "4")
    rows = []
    # why only the package of others: to look deeper would import it.
    paths = {name: _origin(point.module.partition(".")[0]) for name, point in third_party().items()}
    for name, folder in shared_backends(settings.backend_directory).items():
        paths[name] = str(folder / SHARED_FILE)
    paths |= {name: _origin(target.partition(":")[0]) for name, target in CATALOG.items()}
    for name, path in paths.items():
        config = {"cmdline": {**common, **settings.backend_settings.get(name, {})}}
        rows.append((name, path, json.dumps(config, separators=(",", ":"))))
    return rows


def _origin(module: str) -> str:
    found = importlib.util.find_spec(module)
    return found.origin if found is not None and found.origin else ""


def _options(settings: Settings) -> list[tuple[str, str]]:
    rows = [
        ("server_id", settings.server_id),
        ("server_version", SERVER_VERSION),
        ("server_extensions", " ".join(EXTENSIONS)),
    ]
    rows += [
        (f"model_repository_path[{number}]", str(path))
        for number, path in enumerate(settings.repositories)
    ]
    rows.append(("model_control_mode", f"MODE_{settings.control_mode.upper()}"))
    if settings.explicit:
        names = ("*",) if settings.load_models is None else settings.load_models
        rows += [(f"startup_models_{number}", name) for number, name in enumerate(names)]
    rows += [
        ("strict_model_config", _bit(not settings.auto_complete)),
        ("model_config_name", settings.config_name),
        ("rate_limit", "EXEC_COUNT" if settings.rate_limit else "OFF"),
        ("pinned_memory_pool_byte_size", str(settings.pinned_pool_bytes)),
        ("strict_readiness", _bit(settings.strict_readiness)),
        ("exit_timeout", f"{settings.exit_timeout_s:g}"),
        ("cache_enabled", _bit(bool(settings.cache_config))),
    ]
    return rows


def _bit(value: bool) -> str:  # a value to show, not a switch
    return "1" if value else "0"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A box of lines as Triton draws it; line breaks inside a cell become spaces."""
    shown = [[" ".join(cell.split("\n")) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in shown
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])
