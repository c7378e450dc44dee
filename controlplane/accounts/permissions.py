"""Permissions of REST: reads need READ, writes DEPLOY, unless the view says otherwise.

A view answers those who have the permission by their role in the installation. Who has it in some
projects alone is let in by a ``ProjectAPIView``, and sees those projects.
"""

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from controlplane.accounts import selectors
from controlplane.accounts.errors import SecondFactorMissing
from controlplane.accounts.models import ApiToken, Membership, User
from controlplane.accounts.policy import Permission, Role, allows, lowest_role, scope_of
from controlplane.accounts.scope import scope_enter
from controlplane.core.errors import Forbidden


def permission_needed(method: str | None, view: object) -> Permission:
    """A view may set ``read_permission`` or ``write_permission``."""
    if method in SAFE_METHODS:
        found: Permission = getattr(view, "read_permission", Permission.READ)
    else:
        found = getattr(view, "write_permission", Permission.DEPLOY)
    return found


def scopes_of(auth: Any) -> list[str] | None:
    """The limits of the token that proved the request; None for none."""
    return list(auth.scopes) if isinstance(auth, ApiToken) and auth.scopes else None


def may(request: Request, permission: Permission) -> bool:
    """Whether who sends it, through the token that it came with, has this permission as well."""
    return allows(request.user, permission, scopes=scopes_of(request.auth))


class RolePermission(BasePermission):
    def has_permission(self, request: Request, view: object) -> bool:
        """False only for strangers, who are asked to sign in. Raises Forbidden for the others."""
        user = request.user
        if not isinstance(user, User) or not user.is_active:
            return False
        needed, scopes = permission_needed(request.method, view), scopes_of(request.auth)
        if request.auth is None and not getattr(view, "before_second_factor", False):
            _second_factor_wanted(user)
        of_projects = getattr(view, "of_projects", False)
        scope = scope_of(user, needed, scopes=scopes)
        if scope is None or (scope and of_projects):
            scope_enter(scope)
            return True
        if allows(user, needed) or (of_projects and scopes and scope_of(user, needed)):
            raise Forbidden(
                f"This API token is limited to {', '.join(scopes or [])}; this needs {needed}.",
                code="TokenScopeMissing",
                hints=("Make a token with this scope under Settings, API tokens.",),
                extra={"needed_permission": needed},
            )
        if user.sign_in == User.SignIn.SERVICE and needed == Permission.ACCOUNT:
            raise Forbidden(
                f"{user.username} is a service account: it has no password, browsers or tokens of "
                "its own making.",
                hints=("An administrator renews its token: `shoal service-account rotate`.",),
                extra={"needed_permission": needed},
            )
        role = lowest_role(needed)
        wanted = role if role == Role.ADMIN else f"{role} or a higher one"
        hint = "An administrator can change roles under Settings, Users."
        if of_projects and role in Membership.Role.values:
            hint = f"{hint[:-1]}, or give one in a project: `shoal project add-member`."
        raise Forbidden(
            f"This needs the role {wanted}; {user.username} is {user.role}.",
            hints=(hint,),
            extra={"needed_permission": needed, "needed_role": role},
        )


def _second_factor_wanted(user: User) -> None:
    """Raises SecondFactorMissing. Of browsers alone: a token was made by who had opened one."""
    if selectors.second_factor_missing(user):
        raise SecondFactorMissing(
            f"{user.username} is {user.role}, and this installation wants a second factor of that.",
            extra={"second_factor": "missing"},
        )


def actor(request: Request) -> str:
    """The name under which what this request does is recorded."""
    return request.user.get_username()
