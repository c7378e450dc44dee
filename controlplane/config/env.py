"""Typed readers of the environment: the one place of the control plane that looks at it.

A secret ``NAME`` may instead be given as ``NAME_FILE``, the path of a file that holds it.
"""

import os
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from wire import secret_files

T = TypeVar("T")


def text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def given(*beginnings: str) -> dict[str, str]:
    """All variables that begin so, as they are: secrets, too."""
    return {name: value for name, value in os.environ.items() if name.startswith(beginnings)}


def flag(name: str, *, default: bool) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in {"1", "true", "yes", "on"}:
        return True
    if value.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name}={value!r}: expected true or false")


def choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = os.environ.get(name) or default
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: expected one of {', '.join(choices)}")
    return value


def parsed(name: str, default: str, parse: Callable[[str], T]) -> T:
    """What ``parse`` makes of the text; what it does not take is told with the name."""
    value = os.environ.get(name, default)
    try:
        return parse(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


def integer(name: str, default: int, *, least: int | None = None) -> int:
    value = os.environ.get(name)
    if value is None:
        return default
    try:
        number = int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={value!r}: expected a whole number") from error
    if least is not None and number < least:
        raise ImproperlyConfigured(f"{name}={value!r}: expected {least} or more")
    return number


def days_or_ever(name: str, *, least: int) -> int:
    """Whole days, at least so many; 0, and when it is unset: for ever."""
    days = integer(name, 0, least=0)
    if 0 < days < least:
        raise ImproperlyConfigured(f"{name}={days}: expected {least} or more, or 0 for ever")
    return days


def https(name: str) -> str:
    """The URL of ``name``, which must be https; empty when it is unset."""
    value = os.environ.get(name, "")
    parts = urlsplit(value)
    if value and (parts.scheme != "https" or not parts.hostname):
        # why not all of it: its path may be a secret, and this goes into logs
        raise ImproperlyConfigured(
            f"{name} begins with {parts.scheme!r}: expected https://host/path"
        )
    return value


def web_url(name: str, default: str = "") -> str:
    """The URL of ``name``, of http or https, without a slash in the end; empty for none."""
    value = (os.environ.get(name) or default).rstrip("/")
    parts = urlsplit(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ImproperlyConfigured(f"{name}: expected https://host or http://host")
    return value


def networks(name: str, *, whose: str = "proxies") -> tuple[str, ...]:
    """Addresses and networks of ``name``, comma-separated; none when it is unset."""
    found = []
    for part in filter(None, map(str.strip, os.environ.get(name, "").split(","))):
        try:
            network = ip_network(part)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name}={part!r}: expected an IP address or a network as 10.0.0.0/8: {error}"
            ) from error
        if network.prefixlen == 0:
            raise ImproperlyConfigured(f"{name}={part!r}: expected {whose}, not every address")
        found.append(str(network))
    return tuple(found)


def secret(name: str, *, file: Path | None = None) -> str:
    """The secret ``name``: from the variable, from ``name_FILE``, or from ``file`` if it exists."""
    try:
        found = secret_files.secret(os.environ, name, file)
    except (secret_files.EmptySecret, OSError) as error:
        raise ImproperlyConfigured(str(error)) from error
    if found is None:
        raise ImproperlyConfigured(
            f"Set {name} or {name}_FILE, or run `shoal up`, which makes {file}."
        )
    return found


def optional_secret(name: str, *, least: int) -> str:
    """The secret ``name`` or ``name_FILE``, of ``least`` characters or more; empty for none."""
    try:
        found = secret_files.secret(os.environ, name) or ""
    except (secret_files.EmptySecret, OSError) as error:
        raise ImproperlyConfigured(str(error)) from error
    if 0 < len(found) < least:
        raise ImproperlyConfigured(
            f"{name} has {len(found)} characters: expected a random text of {least} or more"
        )
    return found


def file_pair(first: str, second: str) -> tuple[str, str]:
    """The paths in both variables, or neither."""
    found = os.environ.get(first, ""), os.environ.get(second, "")
    for name, other, path in ((first, second, found[0]), (second, first, found[1])):
        if any(found) and not Path(path).is_file():
            raise ImproperlyConfigured(
                f"{name}={path!r}: expected a file, as {other} is set"
                if not path
                else f"{name}={path!r}: there is no such file"
            )
    return found


def database(name: str, default: str) -> dict[str, Any]:
    """A Django DATABASES entry from a URL: sqlite:////path/file.db or postgresql://user:pw@host/db."""
    url = text(name, default)
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path),
            # why: without IMMEDIATE a transaction that reads first and writes later fails at once
            # with "database is locked" under concurrent writers, whatever the timeout.
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
            },
        }
    if parts.scheme in {"postgres", "postgresql"}:
        options = dict(parse_qsl(parts.query))
        host = options.pop("host", parts.hostname or "")
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.lstrip("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": host,
            "PORT": str(parts.port or ""),
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": _postgres(options),
        }
    # why not all of it: it may have a password, and this goes into logs
    raise ImproperlyConfigured(
        f"{name} begins with {parts.scheme!r}: expected sqlite:////absolute/path or "
        "postgresql://user:password@host/name"
    )


def _postgres(options: dict[str, str]) -> dict[str, Any]:
    from controlplane.config import postgres  # noqa: PLC0415 - its driver, 8 MB, for who uses it

    bounds = postgres.Bounds(
        pool_size=integer("SHOAL_DATABASE_POOL_SIZE", 10, least=1),
        connect_s=integer("SHOAL_DATABASE_CONNECT_TIMEOUT_S", 5, least=1),
        statement_s=integer("SHOAL_DATABASE_STATEMENT_TIMEOUT_S", 30, least=0),
        lock_s=integer("SHOAL_DATABASE_LOCK_TIMEOUT_S", 10, least=0),
    )
    return postgres.options(bounds, options)
