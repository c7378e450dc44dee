"""Finds the installation to talk to; the one room of the client that reads the environment.

Order: SHOAL_URL and SHOAL_TOKEN; ``client.json`` of SHOAL_HOME; ``.shoal/client.json`` here or in
the nearest parent; the file that ``shoal login`` wrote.
"""

import json
import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from shoal.client.errors import InstallationNotFound, ShoalError

# What the command line was told by --project; it goes before the environment.
project_option: ContextVar[str] = ContextVar("project_option", default="")


@dataclass(frozen=True, slots=True)
class Installation:
    """Where Shoal answers and as whom. Fields but ``url`` may be empty for a remote one."""

    url: str
    token: str = ""
    source: str = ""  # where this was found, for messages
    username: str = ""
    gateway_url: str = ""
    gateway_plain_url: str = ""
    grpc_target: str = ""
    ca_path: str = ""
    keyring: str = ""  # the keyring that has the token, if a login put it there
    project: str = ""  # where new things go, and what lists are of; empty: as the installation says


def find_installation(
    environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Installation:
    """Raises InstallationNotFound, listing where it looked; ShoalError for an unreadable file, and
    for a keyring that does not give the token."""
    environ = os.environ if environ is None else environ
    found = _found(environ, cwd)
    if project := project_option.get() or environ.get("SHOAL_PROJECT", ""):
        found = replace(found, project=project)
    if found.keyring and not found.token:
        return replace(found, token=_credentials().recall(found.url, found.username))
    return found


def _found(environ: Mapping[str, str], cwd: Path | None) -> Installation:
    found = _from_files(environ, cwd or Path.cwd())
    url, token = environ.get("SHOAL_URL", "").rstrip("/"), environ.get("SHOAL_TOKEN", "")
    if url:
        # why: a token belongs to one installation; never send a found one to another URL
        same = found is not None and found.url == url
        base = found if found is not None and same else Installation(url=url)
        return replace(base, token=token or base.token, source="SHOAL_URL")
    if found is None:
        raise InstallationNotFound(
            "No Shoal installation found",
            "looked at SHOAL_URL, SHOAL_HOME, .shoal/client.json here and in every parent folder, "
            f"and {login_path(environ)}",
            [
                "On this machine: start one with `make up` and run this inside its folder, "
                "or set SHOAL_HOME to its data folder.",
                "On another machine: `shoal login --url https://<host>:<port>`.",
            ],
        )
    if token:
        return replace(found, token=token, source=f"{found.source}, SHOAL_TOKEN")
    return found


def login_path(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME")
    config = Path(base) if base else Path(environ.get("HOME") or Path.home()) / ".config"
    return config / "shoal" / "client.json"


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where local endpoints are: $XDG_STATE_HOME or ~/.local/state, of this user only."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME")
    home = Path(environ.get("HOME") or Path.home())
    return (Path(base) if base else home / ".local" / "state") / "shoal" / "endpoints"


def save_login(
    installation: Installation,
    environ: Mapping[str, str] | None = None,
    *,
    in_file: bool = False,
) -> tuple[Path, str]:
    """Keeps the token in the system's keyring, or where there is none (or ``in_file``) in the login
    file, readable by its owner only. Returns the file's path and the keyring's name, or ""."""
    path = login_path(environ)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    url, username, token = installation.url, installation.username, installation.token
    kept = "" if in_file else _credentials().keep(url, username, token)
    body = {"url": url, "token": "" if kept else token, "username": username, "keyring": kept}
    unfinished = path.with_suffix(".tmp")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(body, file, indent=2)
    unfinished.replace(path)
    return path, kept


def drop_login(environ: Mapping[str, str] | None = None) -> Installation | None:
    """Forgets what ``save_login`` kept; returns what it was. The token itself stays valid."""
    path = login_path(environ)
    if not path.is_file():
        return None
    dropped = _read(path)
    if dropped.keyring:
        _credentials().forget(dropped.url, dropped.username)
    path.unlink()
    return dropped


def _credentials() -> ModuleType:
    from shoal.client import credentials  # noqa: PLC0415 # few commands need a keyring

    return credentials


def _from_files(environ: Mapping[str, str], cwd: Path) -> Installation | None:
    home = environ.get("SHOAL_HOME")
    if home:
        # why: who names a home means that one; another one found elsewhere would surprise
        path = Path(home).expanduser() / "client.json"
        return _read(path) if path.is_file() else None
    for folder in (cwd, *cwd.parents):
        path = folder / ".shoal" / "client.json"
        if path.is_file():
            return _read(path)
    path = login_path(environ)
    return _read(path) if path.is_file() else None


def _read(path: Path) -> Installation:
    try:
        body: Any = json.loads(path.read_text(encoding="utf-8"))
        url = str(body["url"]).rstrip("/")
    except PermissionError as error:
        raise ShoalError(
            "Cannot read the installation's credentials",
            str(error),
            ["Run as the user who started Shoal, or use `shoal login`."],
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ShoalError(
            "The installation's file is damaged",
            f"{path}: {error!r}",
            ["Start Shoal again (it rewrites the file), or run `shoal login`."],
        ) from error
    texts = {
        name: str(body.get(name) or "")
        for name in (
            "token", "username", "gateway_url", "gateway_plain_url", "grpc_target", "ca_path",
            "keyring",
        )
    }  # fmt: skip
    return Installation(url=url, source=str(path), **texts)
