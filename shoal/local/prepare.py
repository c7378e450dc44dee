"""Run as a program: migrates both databases and sets the installation up, in one Django start.

`python -m shoal.local.prepare OUTPUT` fills OUTPUT, mode 0600, with what
`manage.py setup_installation` reports. `--join-token-file FILE` is for a single-use token for a
node, `--authority-file FILE` for the certificate by which nodes and gateways know the agents' port.
`--agents-authority FOLDER` says who is to sign that port, where no authority was made yet.
With `--announce` it says on its standard output how to get in, for who reads a container's log.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command

from shoal.local.home import write_private


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--join-token-file", type=Path)
    parser.add_argument("--authority-file", type=Path)
    parser.add_argument("--agents-authority", type=Path)
    parser.add_argument("--announce", action="store_true")
    options = parser.parse_args()
    # why: first secrets that nobody has read yet must survive a second run, which makes none.
    before = _read(options.output)
    unread = {name: before[name] for name in ("admin_password", "setup_token") if before.get(name)}

    django.setup()
    call_command("migrate", interactive=False, verbosity=1)
    call_command("migrate", database="metrics", interactive=False, verbosity=1)
    asked = ["--join-token"] if options.join_token_file else []
    if options.agents_authority:
        asked += ["--agents-authority", str(options.agents_authority)]
    call_command("setup_installation", "--output", str(options.output), *asked)

    answer = _read(options.output)
    if not answer["setup_open"]:
        unread.pop("setup_token", None)  # it opens nothing any more
    answer |= {name: secret for name, secret in unread.items() if not answer.get(name)}
    if options.join_token_file:
        write_private(options.join_token_file, answer.pop("join_token"))
    authority = answer.pop("agents_authority")
    if options.authority_file:
        options.authority_file.write_text(authority)
    write_private(options.output, json.dumps(answer, indent=1) + "\n")
    if options.announce:
        sys.stdout.write(welcome(answer, settings.SHOAL_PUBLIC_URL) + "\n")


def welcome(answer: dict[str, Any], studio_url: str) -> str:
    """Where the studio is, and while nobody has signed in yet the link that opens it once.

    The password is never said here: logs are kept, and the link is worth nothing once it was used.
    """
    lines = [f"Studio       {studio_url}"]
    token = answer.get("setup_token")
    if answer["setup_open"] and token:
        link = f"{studio_url}/setup#{token}"
        lines.append(f"First visit  {link}   (choose your name and password; works once)")
    return "\n".join(lines)


def _read(file: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    return content


if __name__ == "__main__":
    main()
