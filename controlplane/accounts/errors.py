"""What can go wrong with users and tokens."""

from controlplane.core.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
)


class BadCredentials(Unauthenticated):
    code = "BadCredentials"
    tries = ("Check the spelling; an administrator can set a new password.",)


class CodeNeeded(Unauthenticated):
    """The password is right, and this account has a second factor."""

    code = "CodeNeeded"
    tries = (
        "Send `code` as well: what your app shows, or one of your recovery codes. An administrator "
        "can reset a second factor that is lost.",
    )


class CodeWrong(Unauthenticated):
    code = "CodeWrong"
    tries = (
        "Each code counts once, recovery codes too: wait for the next one. The clock of your phone "
        "may be off.",
    )


class SecondFactorMissing(Forbidden):
    """The installation wants a second factor of this role, and there is none yet."""

    code = "SecondFactorMissing"
    tries = ("Set one up in the studio, under Settings, Profile; nothing else opens before.",)


class SecondFactorOn(Conflict):
    code = "SecondFactorOn"
    tries = ("Take it away first, by password and a code of it.",)


class SecondFactorOff(Conflict):
    code = "SecondFactorOff"
    tries = ("`GET /api/v1/session/second-factor` says whether there is one.",)


class SecondFactorUnreadable(Unavailable):
    code = "SecondFactorUnreadable"
    tries = ("Put back the SHOAL_SECRET_KEY with which this database was used before.",)


class SecondFactorNotBegun(Conflict):
    code = "SecondFactorNotBegun"
    tries = ("Begin anew: `POST /api/v1/session/second-factor` shows a secret.",)


class OwnSecondFactor(Forbidden):
    code = "OwnSecondFactor"
    tries = (
        "Take yours away in your profile, by password and code; or ask another administrator.",
    )


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


class TokenTooLong(Invalid):
    code = "TokenTooLong"
    tries = ("Ask for fewer days; SHOAL_SERVICE_TOKEN_MAX_DAYS is the installation's limit.",)


class ServiceAccountNotFound(NotFound):
    code = "ServiceAccountNotFound"
    tries = ("`GET /api/v1/service-accounts` lists them.",)


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


class PasswordsOff(Forbidden):
    """People sign in elsewhere; the host's own way in is ``manage.py break_glass``."""

    code = "PasswordsOff"
    tries = (
        "Sign in with the button of your provider; for the command line: `shoal login --browser`.",
    )


class SignsInElsewhere(Conflict):
    """Shoal keeps no password of this account, or does not decide on its role."""

    code = "SignsInElsewhere"
    tries = ("Change it at the provider that this account signs in with.",)


class ProviderUnavailable(Unavailable):
    code = "ProviderUnavailable"
    tries = ("Try again in a moment; an administrator finds the cause in the web process's log.",)


class SignInStale(Invalid):
    """The browser brings back another sign-in than it began, or one that is over."""

    code = "SignInStale"
    tries = ("Begin the sign-in anew, in one tab, and finish it within ten minutes.",)


class IdentityRefused(Unauthenticated):
    """What the provider says proves nothing. ``extra["reason"]`` is for the event log."""

    code = "IdentityRefused"
    tries = ("Sign in again; if it stays, an administrator finds the reason in the event log.",)


class RemoteUserRefused(Unauthenticated):
    """A remote-user header that no trusted proxy sent, or not as it should."""

    code = "RemoteUserRefused"
    tries = (
        "Come through the proxy that signs people in; docs/sign-in.md says what it must send.",
    )


class NoRole(Forbidden):
    code = "NoRole"
    tries = (
        "Ask for one of the groups that have a role here (SHOAL_OIDC_ROLES, SHOAL_REMOTE_ROLES).",
    )


class AccountDisabled(Forbidden):
    code = "AccountDisabled"
    tries = ("An administrator can let you in again under Settings, Users.",)


class AccountIsLocal(Conflict):
    """Somebody else may have the name: whoever chose it at a provider is not them."""

    code = "AccountIsLocal"
    tries = (
        "An administrator can hand it over: `shoal user update NAME --sign-in oidc` (or header).",
    )


class ProjectNotFound(NotFound):
    code = "ProjectNotFound"
    tries = ("`GET /api/v1/projects` lists those that you have a role in.",)


class ProjectArchived(Conflict):
    """Nothing new is made in it; what runs there runs on."""

    code = "ProjectArchived"
    tries = ("Take another project, or ask an administrator to restore this one.",)


class ProjectMismatch(Conflict):
    """Two things that would be used together belong to different projects."""

    code = "ProjectMismatch"
    tries = ("Register the model in the project of the endpoint, under another name.",)


class ProjectQuotaExceeded(Conflict):
    """``extra`` has the numbers: ``quota``, ``used``, ``wanted``, ``limit``."""

    code = "ProjectQuotaExceeded"
    tries = (
        "Scale down or delete what the project needs no more; an administrator may raise the "
        "limit: `shoal project update`.",
    )


class MemberNotFound(NotFound):
    code = "MemberNotFound"
    tries = ("`GET /api/v1/projects/{name}/members` lists them.",)
