"""Makes an installation usable: its first administrator and a token for the tools on this machine.

Safe to repeat. Secrets go to a private file, never to the output, which may end up in a log.
"""

import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from controlplane.accounts import services as accounts
from controlplane.accounts.models import User
from controlplane.accounts.selectors import setup_user, token_get
from controlplane.core import audit
from controlplane.gateway.authority import local_authority_adopt
from controlplane.nodes import services as nodes
from controlplane.nodes.authority import authorities_pem, authority_adopt

LOCAL_TOKEN_NAME = "this machine"  # noqa: S105 - a label


class Command(BaseCommand):
    help = "Create the first administrator and a token for local tools; write them as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, required=True, help="written with mode 0600")
        parser.add_argument("--username", default="admin", help="of the first administrator")
        parser.add_argument(
            "--join-token", action="store_true", help="also make a single-use token for a node"
        )
        parser.add_argument(
            "--agents-authority",
            type=Path,
            help="folder with tls.crt and tls.key of who is to sign",
        )

    def handle(
        self,
        *_args: Any,
        output: Path,
        username: str,
        join_token: bool,
        agents_authority: Path | None,
        **_options: Any,
    ) -> None:
        _note_restore(settings.SHOAL_HOME / "audit" / "restored.json")
        # why one transaction around the file: a password that was not written down is lost.
        with transaction.atomic():
            if agents_authority is not None:
                _adopt(agents_authority)
            user, password = accounts.administrator_ensure(username=username)
            answer: dict[str, object] = {
                "admin_username": user.username,
                "admin_password": password,
                "local_token": _token_kept(user, output)
                or accounts.token_replace(user=user, name=LOCAL_TOKEN_NAME, actor="system"),
            }
            if password is not None:
                answer["setup_token"] = accounts.setup_token_make(user=user)
            answer["agents_authority"] = authorities_pem(timezone.now())
            local_authority_adopt(timezone.now())
            answer["setup_open"] = setup_user() is not None
            if join_token:
                answer["join_token"] = nodes.join_token_create(actor="system")
            write_private(output, json.dumps(answer, indent=1) + "\n")
        self.stderr.write(f"Wrote {output}")


def _token_kept(user: User, output: Path) -> str | None:
    """The token that a run before this one wrote, while it still opens: somebody may hold it."""
    for path, name in ((output, "local_token"), (settings.SHOAL_HOME / "client.json", "token")):
        try:
            content = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            continue
        clear = content.get(name) if isinstance(content, dict) else None
        token = token_get(clear) if isinstance(clear, str) else None
        if token is not None and token.user == user and token.name == LOCAL_TOKEN_NAME:
            return str(clear)
    return None


def _adopt(folder: Path) -> None:
    """Raises CommandError."""
    try:
        certificate, key = (folder / "tls.crt").read_text(), (folder / "tls.key").read_text()
        authority_adopt(certificate, key, timezone.now())
    except (OSError, ValueError) as error:
        raise CommandError(f"--agents-authority {folder}: {error}") from error


def _note_restore(note: Path) -> None:
    """`shoal restore` leaves it where this database was put back."""
    if note.exists():
        audit.restored(str(json.loads(note.read_text())["reason"]))
        note.unlink()


def write_private(path: Path, text: str) -> None:
    """Write so that no one else can read it at any moment, and readers see all of it or nothing."""
    staged = path.with_name(f".{path.name}.{uuid4().hex}")
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
