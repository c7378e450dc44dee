"""Whole numbers of a range."""

from typing import Any

from rest_framework import serializers


class RangeField(serializers.IntegerField):
    """A whole number of a range; a refusal says which came, and what was expected."""

    def __init__(self, *, least: int, most: int, **options: Any) -> None:
        super().__init__(min_value=least, max_value=most, **options)
        self._least, self._most = least, most

    def to_internal_value(self, data: Any) -> int:
        value = int(super().to_internal_value(data))
        if not self._least <= value <= self._most:
            raise serializers.ValidationError(
                f"{value} is out of range: expected {self._least} to {self._most}."
            )
        return value
