"""Run as a program: migrates both databases and sets the installation up, in one Django start.

`python -m shoal.local.prepare OUTPUT [--join-token]`: `manage.py setup_installation` fills OUTPUT.
"""

import sys

import django
from django.core.management import call_command


def main(arguments: list[str]) -> None:
    output, options = arguments[0], arguments[1:]
    django.setup()
    call_command("migrate", interactive=False, verbosity=1)
    call_command("migrate", database="metrics", interactive=False, verbosity=1)
    call_command("setup_installation", "--output", output, *options)


if __name__ == "__main__":
    main(sys.argv[1:])
