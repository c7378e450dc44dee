"""Who may do what. The one place that says so: REST, sockets and the studio's buttons all ask here.

Roles are steps of one stair: each may do what those below it may. An account has one for the whole
installation, and may have others in projects.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from controlplane.accounts.models import Membership, User
from controlplane.accounts.scope import Scope

Role = User.Role


class Permission(StrEnum):
    READ = "read"  # everything but keys, secrets and people
    ACCOUNT = "account"  # one's own password, sessions and tokens
    INVOKE = "invoke"  # send requests from the test console
    KEYS = "keys"  # see and renew what opens an endpoint
    DEPLOY = "deploy"  # models, configurations, endpoints, deployments, traffic
    OPERATE = "operate"  # nodes: join, label, cordon, drain, remove
    CODE = "code:upload"  # let models run code on the nodes: one's own at once, others' by approval
    ADMINISTER = "administer"  # people, storage, the installation


# Who may read people: their names, where they sign in from, the events about them.
PEOPLE: Final = Permission.ADMINISTER

STAIR: Final[tuple[tuple[Role, frozenset[Permission]], ...]] = (
    (Role.MEMBER, frozenset({Permission.ACCOUNT})),
    (Role.VIEWER, frozenset({Permission.READ})),
    (Role.INVOKER, frozenset({Permission.INVOKE})),
    (Role.DEPLOYER, frozenset({Permission.DEPLOY, Permission.KEYS})),
    (Role.OPERATOR, frozenset({Permission.OPERATE})),
    (Role.ADMIN, frozenset({Permission.CODE, Permission.ADMINISTER})),
)
# What a token may be limited to. Not ACCOUNT: a limited token must not make itself a wider one.
SCOPES: Final = tuple(each for each in Permission if each is not Permission.ACCOUNT)


def permissions_of(role: str, scopes: Iterable[str] | None = None) -> frozenset[Permission]:
    """What a person of this role may do; with ``scopes``, what remains of it for such a token.

    An unknown role may do nothing. Every token may read.
    """
    if role not in Role.values:
        return frozenset()
    held: frozenset[Permission] = frozenset()
    for step, more in STAIR:
        held |= more
        if step == role:
            break
    if scopes is None:
        return held
    return held & ({Permission(scope) for scope in scopes} | {Permission.READ})


def permissions_held(user: User, scopes: Iterable[str] | None = None) -> frozenset[Permission]:
    """What this account may do, through a token of these scopes if any.

    A service account has no account of its own to look after: it would make itself a token without
    an end.
    """
    held = permissions_of(user.role, scopes)
    return held - {Permission.ACCOUNT} if user.sign_in == User.SignIn.SERVICE else held


def lowest_role(permission: Permission) -> Role:
    """The first role on the stair that has it."""
    return next(role for role, more in STAIR if permission in more)


def allows(user: object, permission: Permission, *, scopes: Iterable[str] | None = None) -> bool:
    """Whether this person, through a token of these scopes if any, may do it now."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return permission in permissions_held(user, scopes)


def scope_of(user: object, permission: Permission, *, scopes: Iterable[str] | None = None) -> Scope:
    """In which projects this person, through a token of these scopes if any, may do it now.

    None: in all of them. Of what is the installation's, ``allows`` alone says who may.
    """
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    if allows(user, permission, scopes=scopes):
        return None
    return frozenset(
        row.project_id
        for row in Membership.objects.filter(user=user)
        if permission in permissions_within(row, scopes)
    )


def permissions_within(
    membership: Membership, scopes: Iterable[str] | None = None
) -> frozenset[Permission]:
    """What a member may do in that project, through a token of these scopes if any."""
    return permissions_of(membership.role, scopes) - {Permission.ACCOUNT}
