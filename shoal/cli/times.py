"""A moment on the command line: how long ago, or when."""

from datetime import datetime, timedelta

import click

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
EXPECTED = "expected how long ago (30m, 24h, 7d) or when (2026-11-22, 2026-11-22T14:30)"


def instant(text: str, now: datetime) -> datetime:
    """``text`` before ``now``, or the time that it says; without a zone in that of ``now``.

    Raises ValueError.
    """
    number, unit = text[:-1], text[-1:]
    if unit in UNITS and number.isascii() and number.isdecimal():
        try:
            return now - timedelta(**{UNITS[unit]: int(number)})
        except OverflowError:
            raise ValueError(text) from None
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=now.tzinfo)


class Moment(click.ParamType[str]):
    """As ISO 8601 with its zone, which is what REST takes."""

    name = "when"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return instant(value, datetime.now().astimezone()).isoformat()
        except ValueError:
            self.fail(f"{value!r}: {EXPECTED}.", param, ctx)
