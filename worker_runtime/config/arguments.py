"""Arguments to flags and their texts, with the rules of GNU getopt_long as Triton uses it.

Also how a command line can be wrong.
"""

import difflib
from collections.abc import Sequence

from worker_runtime.config.flags import BY_NAME, Flag
from worker_runtime.config.flags.flag import Kind


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
