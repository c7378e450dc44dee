"""How a command line can be wrong."""


class UsageError(ValueError):
    """The command line is wrong; the text says how to put it right."""


class HelpRequested(Exception):
    pass


def bad_option(name: str, reason: str) -> UsageError:
    """Triton's form: the option on one line, what is wrong with its value on the next."""
    return UsageError(f'Bad option: "--{name}".\n{reason}')
