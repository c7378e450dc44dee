"""Who says who people are, beside Shoal itself: what settings tell of it. No rows, no network."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

# As ``models.User.Role``, which settings cannot import; lowest first.
ROLES: Final = ("member", "viewer", "invoker", "deployer", "operator", "admin")
# Signatures by a key that the provider alone has: no shared secret, and never "none".
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519", "EdDSA"),
)


@dataclass(frozen=True, slots=True)
class RoleRules:
    """Which group gives which role; patterns as in a shell (``ml-*``), case counts."""

    rules: tuple[tuple[str, str], ...]

    def role_of(self, groups: Iterable[str]) -> str | None:
        """The highest role that any of the groups gives; None where none does.

        The pattern ``*`` is everybody, also without any group.
        """
        names = tuple(groups)
        given = {
            role
            for pattern, role in self.rules
            if pattern == "*" or any(fnmatchcase(name, pattern) for name in names)
        }
        return max(given, key=ROLES.index, default=None)


def role_rules_read(text: str) -> RoleRules:
    """``GROUP=role;GROUP=role``; a group may hold ``=`` and ``,``, as LDAP's names do.

    Raises ValueError with what is wrong.
    """
    rules = []
    for part in filter(None, map(str.strip, text.split(";"))):
        group, equals, role = part.rpartition("=")
        if not equals or not group.strip() or role.strip() not in ROLES:
            raise ValueError(f"{part!r}: expected GROUP=role, the role one of {', '.join(ROLES)}")
        rules.append((group.strip(), role.strip()))
    return RoleRules(tuple(rules))


def roles_read(text: str) -> tuple[str, ...]:
    """``admin,operator``. Raises ValueError."""
    found = tuple(filter(None, map(str.strip, text.split(","))))
    for role in found:
        if role not in ROLES:
            raise ValueError(f"{role!r}: expected some of {', '.join(ROLES)}")
    return found


@dataclass(frozen=True, slots=True)
class RemoteUser:
    """Headers in which a trusted proxy says who calls. Empty: not used."""

    user_header: str
    groups_header: str
    roles: RoleRules
    separator: str = ","  # between groups
    secret: str = field(default="", repr=False)  # which the proxy shows, in
    secret_header: str = "X-Shoal-Proxy-Secret"  # noqa: S105 - a name
    logout_url: str = ""  # where the proxy's own session ends


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """An OpenID Connect provider, and what of its word counts."""

    issuer: str
    client_id: str
    name: str  # on the button
    roles: RoleRules
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    ca_file: str = ""
    session_s: int = 12 * 3600
    logout: bool = True
