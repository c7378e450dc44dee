"""What can go wrong with users and tokens."""

from controlplane.core.errors import (
    Conflict,
    Invalid,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
)


class BadCredentials(Unauthenticated):
    code = "BadCredentials"
    tries = ("Check the spelling; an administrator can set a new password.",)


class TooManyAttempts(RateLimited):
    code = "TooManyAttempts"
    tries = ("Wait as long as the header Retry-After says; further attempts make it longer.",)


class SignInBusy(Unavailable):
    """So many passwords are being checked that another would have to wait for too long."""

    code = "SignInBusy"
    tries = ("Wait as long as the header Retry-After says; this attempt was not counted.",)


class SetupClosed(NotFound):
    """The installation has an administrator who has been here."""

    code = "SetupClosed"
    tries = ("Sign in; an administrator can add you, or set a new password.",)


class SetupTokenWrong(Unauthenticated):
    code = "SetupTokenWrong"
    tries = ("Open the link as `shoal up` printed it, to its last character.",)


class TokenNotFound(NotFound):
    code = "TokenNotFound"
    tries = ("`GET /api/v1/tokens` lists yours.",)


class SessionNotFound(NotFound):
    code = "SessionNotFound"
    tries = ("`GET /api/v1/sessions` lists yours.",)


class UserNotFound(NotFound):
    code = "UserNotFound"
    tries = ("`GET /api/v1/users` lists everybody.",)


class NameTaken(Conflict):
    code = "NameTaken"
    tries = ("Choose another name.",)


class LastAdministrator(Conflict):
    """The installation would be left without anybody who can administer it."""

    code = "LastAdministrator"
    tries = ("Make somebody else an administrator first.",)


class PasswordRefused(Invalid):
    code = "PasswordRefused"
    tries = ("Take a longer one, of words that nobody guesses.",)
