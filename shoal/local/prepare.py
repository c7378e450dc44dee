"""Run as a program: migrates both databases and sets the installation up, in one Django start.

`python -m shoal.local.prepare OUTPUT [--join-token-file FILE]` fills OUTPUT, mode 0600, with what
`manage.py setup_installation` reports, and FILE with a single-use token for a node.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command

from shoal.local.home import write_private


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--join-token-file", type=Path)
    options = parser.parse_args()
    # why: first secrets that nobody has read yet must survive a second run, which makes none.
    before = _read(options.output)
    unread = {name: before[name] for name in ("admin_password", "setup_token") if before.get(name)}

    django.setup()
    call_command("migrate", interactive=False, verbosity=1)
    call_command("migrate", database="metrics", interactive=False, verbosity=1)
    joining = ["--join-token"] if options.join_token_file else []
    call_command("setup_installation", "--output", str(options.output), *joining)

    answer = _read(options.output)
    answer |= {name: secret for name, secret in unread.items() if not answer.get(name)}
    if options.join_token_file:
        write_private(options.join_token_file, answer.pop("join_token"))
    write_private(options.output, json.dumps(answer, indent=1) + "\n")


def _read(file: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    return content


if __name__ == "__main__":
    main()
