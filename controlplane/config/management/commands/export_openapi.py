"""Writes docs/openapi.json, from which the studio's types are generated; --check tells of drift."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from drf_spectacular.generators import SchemaGenerator


class Command(BaseCommand):
    help = "Write the OpenAPI document of /api/v1 to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        default = Path(settings.BASE_DIR) / "docs" / "openapi.json"
        parser.add_argument("--output", type=Path, default=default)
        parser.add_argument("--check", action="store_true", help="fail if the file is out of date")

    def handle(self, *_args: Any, output: Path, check: bool, **_options: Any) -> None:
        schema = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]  # theirs
        text = json.dumps(schema, indent=1, sort_keys=True) + "\n"
        if not check:
            output.write_text(text)
            self.stderr.write(f"Wrote {output}")
        elif not output.exists() or output.read_text() != text:
            raise CommandError(f"{output} is out of date: run `manage.py export_openapi`.")
