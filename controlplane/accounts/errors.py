"""What can go wrong with users and tokens."""

from controlplane.core.errors import Conflict, Invalid, NotFound, RateLimited, Unauthenticated


class BadCredentials(Unauthenticated):
    code = "BadCredentials"


class TooManyAttempts(RateLimited):
    code = "TooManyAttempts"


class TokenNotFound(NotFound):
    code = "TokenNotFound"


class SessionNotFound(NotFound):
    code = "SessionNotFound"


class UserNotFound(NotFound):
    code = "UserNotFound"


class NameTaken(Conflict):
    code = "NameTaken"


class LastAdministrator(Conflict):
    """The installation would be left without anybody who can administer it."""

    code = "LastAdministrator"


class PasswordRefused(Invalid):
    code = "PasswordRefused"
