"""What can go wrong with users and tokens."""

from controlplane.core.errors import NotFound, RateLimited, Unauthenticated


class BadCredentials(Unauthenticated):
    code = "BadCredentials"


class TooManyAttempts(RateLimited):
    code = "TooManyAttempts"


class TokenNotFound(NotFound):
    code = "TokenNotFound"
