"""``manage.py break_glass``: the host's own way in, where nobody else can sign in."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.accounts import services


class Command(BaseCommand):
    help = "Make an administrator who signs in by password even where SHOAL_PASSWORDS is false."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--username", default="break-glass", help="taken over if it exists")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        del args, options
        clear = services.break_glass(username=username)
        self.stdout.write(f"{username} signs in with this password, shown once: {clear}")
