"""What is wrong with the input of a serializer: the place, the value, what was expected.

The one place for all serializers. Values are shortened, and never shown where a secret may be.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from django.core.validators import RegexValidator
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.settings import api_settings

AnyField = serializers.Field[Any, Any, Any, Any]

MOST_SHOWN: Final = 60  # characters of a value
MOST_NAMES: Final = 40  # choices or names in a sentence
# Parts of a path below which values may be secrets; ``key_type`` and the like are words.
SECRET: Final = re.compile(
    r"passw|passphrase|secret|credential|token|environment|(^|(?<!public)[-_.])keys?$|api_?key"
    r"|private",
    re.I,
)
ABSENT: Final = object()


def explained(form: serializers.Serializer[Any]) -> ValidationError:
    """The errors of a form that is not valid, in the same shape, each one with place and value."""
    data = getattr(form, "initial_data", ABSENT)
    return ValidationError(_told(form.errors, form, data, ()))


def _told(errors: Any, field: AnyField | None, value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(errors, Mapping):
        return {
            key: _told(inner, *_below(field, value, key), _deeper(path, key))
            for key, inner in errors.items()
        }
    if isinstance(errors, list):
        return [
            _sentence(inner, field, value, path)
            if isinstance(inner, str)
            else _told(inner, *_below(field, value, index), (*path, str(index)))
            for index, inner in enumerate(errors)
        ]
    return _sentence(errors, field, value, path)


def _deeper(path: tuple[str, ...], key: Any) -> tuple[str, ...]:
    return path if key == api_settings.NON_FIELD_ERRORS_KEY else (*path, str(key))


def _below(field: AnyField | None, value: Any, key: Any) -> tuple[AnyField | None, Any]:
    """The field and the value one step further down."""
    if key == api_settings.NON_FIELD_ERRORS_KEY:
        return field, value
    if isinstance(field, serializers.Serializer):
        inner: AnyField | None = field.fields.get(key)
    else:
        inner = getattr(field, "child", None)
    if isinstance(value, Mapping):
        return inner, value.get(key, ABSENT)
    if isinstance(value, list):
        place = int(key) if str(key).isdecimal() else len(value)
        return inner, value[place] if place < len(value) else ABSENT
    return inner, ABSENT


def _sentence(text: str, field: AnyField | None, value: Any, path: tuple[str, ...]) -> ErrorDetail:
    code = getattr(text, "code", "invalid")
    place = ".".join(path) or "the body"
    said = shown(value, path)
    if field is not None and _is_stock(field, text, code):
        return ErrorDetail(f"{place}: {said}, expected {expected(field)}.", code)
    about_name = bool(path) and repr(path[-1]) in text
    if about_name or (_names(text, value) and not _is_secret(path)):
        return ErrorDetail(f"{place}: {text}", code)
    return ErrorDetail(f"{place}: {said}: {text}", code)


def _names(text: str, value: Any) -> bool:
    """Whether a message of our own says the value already; twice would be too often."""
    if isinstance(value, str):
        return any(f"{quote}{value}{quote}" in text for quote in "'\"`")
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and str(value) in text.replace(",", " ").split()


def _is_stock(field: AnyField, text: str, code: str) -> bool:
    """Whether these are Django REST framework's own words, not those of a field of ours."""
    template = str(field.error_messages.get(code, ""))
    stock = [
        str(getattr(kind, "default_error_messages", {}).get(code, ""))
        for kind in type(field).__mro__
        if kind.__module__.startswith("rest_framework")
    ]
    return bool(template) and template in stock and text.startswith(template.partition("{")[0])


def shown(value: Any, path: tuple[str, ...] = ()) -> str:
    """A value that came, as a few words: containers by their size, never what is in them."""
    if value is ABSENT:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object" if value else "{}"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "[]"
    if value == "":
        return '""'
    if _is_secret(path):
        return f"a text of {len(value)} characters" if isinstance(value, str) else "a value"
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= MOST_SHOWN:
        return text
    length = f" ({len(value)} characters)" if isinstance(value, str) else ""
    return f"{text[: MOST_SHOWN - 1]}…{length}"


def _is_secret(path: tuple[str, ...]) -> bool:
    return any(SECRET.search(part) for part in path)


def expected(field: AnyField) -> str:
    """What a field takes."""
    text = _kind(field)
    return f"{text} or null" if field.allow_null else text


def _kind(field: AnyField) -> str:  # a table of types
    match field:
        case serializers.BooleanField():
            return "true or false"
        case serializers.IntegerField() | serializers.FloatField():
            noun = "a whole number" if isinstance(field, serializers.IntegerField) else "a number"
            return noun + _range(field.min_value, field.max_value)
        case serializers.MultipleChoiceField():
            return f"a list of {_words(field.choices)}"
        case serializers.ChoiceField():
            return f"one of {_words(field.choices)}"
        case serializers.RegexField():
            rules = [rule for rule in field.validators if isinstance(rule, RegexValidator)]
            return f"a text that matches {re.compile(rules[0].regex).pattern}"
        case serializers.CharField():
            return "a text" + _length(field)
        case serializers.DateTimeField():
            return "a time such as 2026-01-31T12:00:00Z"
        case serializers.ListSerializer() | serializers.ListField():
            least = getattr(field, "min_length", None) or (0 if field.allow_empty else 1)
            return "a list" + _range(least or None, getattr(field, "max_length", None), " of ")
        case serializers.DictField():
            return "an object"
        case serializers.BaseSerializer():
            names = getattr(field, "fields", {})
            return f"an object with {_words(names)}" if names else "an object"
        case _:
            return "another value"


def _range(least: Any, most: Any, before: str = " ") -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return f"{before}{least} or more"
    return f"{before}{least} to {most}" if least is not None else f"{before}at most {most}"


def _length(field: AnyField) -> str:
    least = getattr(field, "min_length", None) or (0 if getattr(field, "allow_blank", 0) else 1)
    most = getattr(field, "max_length", None)
    if most is None:
        return " that is not empty" if least else ""
    return f" of {least} to {most} characters"


def _words(names: Any) -> str:
    shown = [str(name) for name in names if name != ""]
    more = len(shown) - MOST_NAMES
    return ", ".join(shown[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
