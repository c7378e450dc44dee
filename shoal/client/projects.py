"""The client's calls about projects: a namespace with members and a quota."""

from typing import Any, TypedDict, cast

from shoal.client.administration import Administration, quoted


class Project(TypedDict):
    name: str
    display_name: str
    archived: bool
    max_replicas: int | None  # None: no limit, as of the others
    max_gpus: int | None
    max_bytes: int | None
    used_replicas: int
    used_gpus: int
    used_bytes: int
    created_by: str
    created_at: str


class Member(TypedDict):
    username: str
    role: str
    created_at: str


class Projects(Administration):
    """A part of ``Client``. What changes something needs the role admin."""

    def list_projects(self, *, archived: str = "active") -> list[Project]:
        """Those that one has a role in, or all; ``archived``: active, archived or all."""
        return list(self._items("/projects", archived=archived))

    def get_project(self, name: str) -> Project:
        return cast(Project, self._get(_path(name)))

    def create_project(self, name: str, **fields: Any) -> Project:
        """``fields``: display_name, max_replicas, max_gpus, max_bytes; None is no limit."""
        body = {"name": name, **fields}
        return cast(Project, self._transport.json("POST", "/projects", json=body))

    def update_project(self, name: str, **fields: Any) -> Project:
        """``fields``: the same; what is left out stays."""
        return cast(Project, self._transport.json("PATCH", _path(name), json=fields))

    def set_project_archived(self, name: str, *, archived: bool) -> Project:
        """Whether nothing new is made in it; what runs there runs on."""
        verb = "archive" if archived else "restore"
        return cast(Project, self._transport.json("POST", f"{_path(name)}/{verb}"))

    def list_members(self, project: str) -> list[Member]:
        """Who has a role in it, besides those who have one in the installation."""
        return list(self._items(f"{_path(project)}/members"))

    def set_member(self, project: str, username: str, role: str) -> Member:
        """``role``: viewer, invoker or deployer. A user, or a service account."""
        path = f"{_path(project)}/members/{quoted(username)}"
        return cast(Member, self._transport.json("PUT", path, json={"role": role}))

    def remove_member(self, project: str, username: str) -> None:
        self._transport.json("DELETE", f"{_path(project)}/members/{quoted(username)}")


def _path(name: str) -> str:
    return f"/projects/{quoted(name)}"
