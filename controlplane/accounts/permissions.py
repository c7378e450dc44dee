"""Roles: viewers read, deployers also write, administrators do everything. Denied by default."""

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from controlplane.accounts.models import User

RANK = {User.Role.VIEWER: 1, User.Role.DEPLOYER: 2, User.Role.ADMIN: 3}


class RolePermission(BasePermission):
    """A view may set ``read_role`` or ``write_role`` to ask for more, or less, than the usual."""

    message = "Your role does not allow this."

    def has_permission(self, request: Request, view: object) -> bool:
        user = request.user
        if not isinstance(user, User) or not user.is_active:
            return False
        if request.method in SAFE_METHODS:
            needed = getattr(view, "read_role", User.Role.VIEWER)
        else:
            needed = getattr(view, "write_role", User.Role.DEPLOYER)
        return RANK.get(User.Role(user.role), 0) >= RANK[needed]
