"""JSON whose texts every database can keep, and which nothing overflows on."""

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any, Final

from rest_framework import exceptions, parsers, renderers
from rest_framework.utils import json as strict_json

from controlplane.core.errors import Invalid
from controlplane.core.plain_text import check_text

DEEPEST: Final = 100
# In the text of a JSON document: what may become U+0000 or half of a pair of surrogates.
SUSPICIOUS: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|[\ud800-\udfff]")


class SafeJSONParser(parsers.JSONParser):
    """Raises ParseError for what is no JSON, Invalid for what is and cannot be kept."""

    media_type = "application/json"
    renderer_class = renderers.JSONRenderer

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        del media_type
        encoding = str((parser_context or {}).get("encoding") or "utf-8")
        try:
            text = stream.read().decode(encoding)
            data = json.loads(text, parse_constant=strict_json.strict_constant, parse_float=_finite)
        except RecursionError as error:
            raise _too_deep() from error
        except (ValueError, LookupError) as error:
            raise exceptions.ParseError(f"JSON parse error - {error}") from error
        # why not always: a tensor of millions of numbers can hide neither
        if SUSPICIOUS.search(text) or text.count("[") + text.count("{") > DEEPEST:
            check_texts(data)
        return data


def _finite(text: str) -> float:
    """Raises Invalid for what would become infinite, which no database keeps as JSON."""
    value = float(text)
    if math.isinf(value):
        raise Invalid(
            f"The number {text[:40]} is too large: expected numbers up to 1.8e308.",
            hints=("Send a smaller number, or a text.",),
        )
    return value


class NdjsonParser(parsers.BaseParser):
    """Admits lines of JSON; the view reads the stream itself."""

    media_type = "application/x-ndjson"


def check_texts(data: Any) -> None:
    """Raises Invalid for a text that no database keeps, and for what is nested too deeply."""
    waiting: list[tuple[Any, tuple[str, ...]]] = [(data, ())]
    while waiting:
        value, path = waiting.pop()
        if len(path) > DEEPEST:
            raise _too_deep()
        if isinstance(value, str):
            check_text(value, ".".join(path))
        elif isinstance(value, dict):
            for key in value:
                check_text(key, ".".join(path), what="a name")
            waiting += [(item, (*path, key)) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(item, (*path, str(index))) for index, item in enumerate(value)]


def _too_deep() -> Invalid:
    return Invalid(
        f"The body is nested too deeply: expected {DEEPEST} levels at most.",
        hints=("Send it flatter; what is only kept can be sent as one text.",),
    )
