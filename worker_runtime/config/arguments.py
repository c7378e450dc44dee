"""The command line: arguments to flags, by the rules of GNU getopt_long, and their values checked.

Also how a command line can be wrong: every error names flag, value and what was expected.
"""

import difflib
import re
from collections.abc import Iterable, Sequence

from worker_runtime.config.flags import BY_NAME, Flag
from worker_runtime.config.flags.flag import Kind
from worker_runtime.config.settings import Listener

_TRUE, _FALSE = ("true", "on", "1"), ("false", "off", "0")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class UsageError(ValueError):
    """The command line is wrong; the text says how to put it right."""


class HelpRequested(Exception):
    pass


def bad_option(name: str, reason: str) -> UsageError:
    """Triton's form: the option on one line, what is wrong with its value on the next."""
    return UsageError(f'Bad option: "--{name}".\n{reason}')


def split(arguments: Sequence[str]) -> list[tuple[Flag, str]]:
    """The flags in order with their values; a switch has none. Raises UsageError.

    A flag may be shortened while one flag alone begins so. Whatever follows a flag is its value,
    also when it begins with dashes. Arguments that belong to no flag are refused at the end.
    """
    found: list[tuple[Flag, str]] = []
    unexpected: list[str] = []
    todo = list(arguments)
    while todo:
        argument = todo.pop(0)
        if argument == "--":
            unexpected.extend(todo)
            break
        if argument in ("-h", "--help"):
            found.append((BY_NAME["help"], ""))
        elif argument.startswith("--"):
            found.append(_take(argument, todo))
        elif argument.startswith("-") and argument != "-":
            raise UsageError(f"invalid option -- '{argument[1]}'")
        else:
            unexpected.append(argument)
    if unexpected:
        raise UsageError(f"Unexpected argument: {unexpected[0]}")
    return found


def _take(argument: str, todo: list[str]) -> tuple[Flag, str]:
    name, equals, value = argument[2:].partition("=")
    flag = _flag(name, argument)
    if flag.kind is Kind.SWITCH:
        if equals:
            raise UsageError(f"option '--{flag.name}' doesn't allow an argument")
        return flag, ""
    if equals:
        return flag, value
    if not todo:
        raise UsageError(f"option '--{flag.name}' requires an argument")
    return flag, todo.pop(0)


def _flag(name: str, argument: str) -> Flag:
    flag = BY_NAME.get(name)
    if flag is not None:
        return flag
    begins = [other for other in BY_NAME if other.startswith(name)]
    if len(begins) == 1:
        return BY_NAME[begins[0]]
    if begins:
        choices = " ".join(f"'--{other}'" for other in begins)
        raise UsageError(f"option '--{name}' is ambiguous; possibilities: {choices}")
    close = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f"; did you mean --{close[0]}?" if close else ""
    raise UsageError(f"unrecognized option '{argument}'{hint}")


class Values:
    """What was given, by flag; all of it is checked at once. Raises UsageError."""

    def __init__(self, pairs: Iterable[tuple[Flag, str]]) -> None:
        self._given: dict[str, list[str]] = {}
        for flag, value in pairs:
            _check(flag, value)
            self._given.setdefault(flag.name, []).append(value)

    @property
    def flags(self) -> list[Flag]:
        """Each flag that was given, once, in order."""
        return [BY_NAME[name] for name in self._given]

    def given(self, name: str) -> bool:
        return name in self._given

    def many(self, name: str) -> list[str]:
        return self._given.get(name, [])

    def text(self, name: str) -> str:
        return self._given.get(name, [BY_NAME[name].default])[-1]

    def choice(self, name: str, choices: Iterable[str], *, lower: bool = True) -> str:
        """One of ``choices``; Triton tells the flag's name once more, we add the choices."""
        given = self.text(name)
        value = given.lower() if lower else given
        known = list(choices)
        if value not in known:
            shown = name.replace("-", "_") if name.startswith("grpc-infer") else name
            expected = f"Got {given}; expected {', '.join(known)}"
            raise bad_option(name, f"invalid argument for --{shown}\n{expected}")
        return value

    def flag(self, name: str) -> bool:
        return boolean(name, self.text(name))

    def number(self, name: str) -> int:
        return integer(name, self.text(name), BY_NAME[name])

    def optional_number(self, name: str) -> int | None:
        return self.number(name) if self.given(name) else None

    def listener(self, kind: str, address: str = "") -> Listener:
        reuse = f"reuse-{kind}-port"
        return Listener(
            self.text(f"{kind}-address") or address,
            self.number(f"{kind}-port"),
            self.flag(f"allow-{kind}"),
            reuse in BY_NAME and self.flag(reuse),
            self.optional_number(f"{kind}-fd"),
        )


def boolean(name: str, value: str) -> bool:
    """``true``, ``on``, ``1`` or their opposites, in any case. Raises UsageError."""
    lower = value.lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    raise bad_option(
        name, f"invalid value for bool option: {value}\nExpected true, on, 1, false, off or 0"
    )


def integer(name: str, value: str, bounds: Flag | None = None) -> int:
    """A whole number within the flag's bounds. Raises UsageError in Triton's words."""
    if not _INTEGER.fullmatch(value):
        raise bad_option(name, f"Invalid option value. Got {value}\nExpected an integer")
    number = int(value)
    flag = bounds or _INT
    if not flag.low <= number <= flag.high:
        raise bad_option(
            name,
            f"Provided option value is out of bound. Got {value}\n"
            f"Expected an integer from {flag.low} to {flag.high}",
        )
    return number


def decimal(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        reason = f"Invalid option value. Got {value}\nExpected a number"
        raise bad_option(name, reason) from None


_INT = Flag("", Kind.INTEGER, "")


def _check(flag: Flag, value: str) -> None:
    if flag.kind is Kind.BOOLEAN:
        boolean(flag.name, value)
    elif flag.kind is Kind.INTEGER and flag.name != "log-verbose":
        integer(flag.name, value, flag)
    elif flag.kind is Kind.NUMBER:
        decimal(flag.name, value)
