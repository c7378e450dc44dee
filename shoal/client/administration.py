"""The client's calls that look after an installation: people, nodes, instance types, the log."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote

from shoal.client.transport import Transport
from shoal.client.types import (
    Authority,
    Gateway,
    InstanceType,
    Node,
    SecondFactor,
    SecondFactorBegun,
    ServiceAccount,
    SigningKey,
    SystemPart,
    User,
)


class Administration:
    """A part of ``Client``; most of it needs the role operator or admin."""

    _transport: Transport
    project: str

    def verify_audit(self) -> dict[str, Any]:
        """Whether the event log's chain holds: ``ok``, ``sealed``, ``head``, ``broken``."""
        return cast(dict[str, Any], self._get("/events/verify"))

    def export_audit(self, kind: str = "ndjson", archive: int | None = None) -> Iterator[bytes]:
        """The events of the database, or of an archive, oldest first; ``kind`` is ``ndjson`` or
        ``csv``."""
        part = "" if archive is None else f"/archives/{archive}"
        return self._transport.stream(f"/events{part}/export?file_format={quoted(kind)}")

    def list_event_archives(self) -> list[dict[str, Any]]:
        """What left the database, the newest first: ``id``, ``first_seq``, ``last_seq``, ..."""
        return list(self._items("/events/archives"))

    def system_parts(self) -> list[SystemPart]:
        """How each part of the installation does."""
        return cast(list[SystemPart], self._get("/system")["parts"])

    def list_nodes(self) -> list[Node]:
        return list(self._items("/nodes"))

    def set_cordoned(self, node: str, *, cordoned: bool) -> Node:
        """A cordoned node keeps what runs there and gets nothing new."""
        verb = "cordon" if cordoned else "uncordon"
        return cast(Node, self._transport.json("POST", f"/nodes/{quoted(node)}/{verb}"))

    def drain_node(
        self, node: str, *, dry_run: bool = False, force: bool = False, deadline_s: int = 600
    ) -> dict[str, Any]:
        """``moves``: which replica answers where before it goes from here."""
        body = {"dry_run": dry_run, "force": force, "deadline_s": deadline_s}
        path = f"/nodes/{quoted(node)}/drain"
        return cast(dict[str, Any], self._transport.json("POST", path, json=body))

    def drain_nodes(
        self,
        nodes: Iterable[str],
        *,
        dry_run: bool = False,
        force: bool = False,
        deadline_s: int = 600,
    ) -> dict[str, Any]:
        """Several at once, all or none: what leaves one of them goes to none of the others."""
        body = {
            "nodes": list(nodes),
            "dry_run": dry_run,
            "force": force,
            "deadline_s": deadline_s,
        }
        return cast(dict[str, Any], self._transport.json("POST", "/drains", json=body))

    def get_node(self, node: str) -> Node:
        return cast(Node, self._get(f"/nodes/{quoted(node)}"))

    def set_labels(self, node: str, labels: Mapping[str, str]) -> Node:
        """They replace those that were set before; what the node says of itself stays."""
        body = {"labels": dict(labels)}
        return cast(Node, self._transport.json("PATCH", f"/nodes/{quoted(node)}", json=body))

    def remove_node(self, node: str, *, force: bool = False) -> None:
        """Its credential stops working. With ``force`` even while replicas run there."""
        path = f"/nodes/{quoted(node)}" + ("?force=true" if force else "")
        self._transport.json("DELETE", path)

    def list_gateways(self) -> list[Gateway]:
        return cast(list[Gateway], self._get("/gateways")["items"])

    def get_ca(self) -> Authority:
        """Whom clients of endpoints should trust, whichever gateway they come to."""
        return cast(Authority, self._get("/ca"))

    def remove_gateway(self, gateway: str) -> None:
        """One that is silent and serves no more: nothing counts as unconfirmed by it then."""
        self._transport.json("DELETE", f"/gateways/{quoted(gateway)}")

    def create_join_token(self) -> dict[str, Any]:
        return cast(dict[str, Any], self._transport.json("POST", "/join-tokens", json={}))

    def list_users(self) -> list[User]:
        return list(self._items("/users"))

    def create_user(self, username: str, role: str, password: str | None = None) -> User:
        """``role``: member, viewer, invoker, deployer, operator or admin. Without a password one
        is made up and told, once, in ``password``."""
        body = {"username": username, "role": role, "password": password}
        return cast(User, self._transport.json("POST", "/users", json=body))

    def update_user(self, username: str, **changes: Any) -> User:
        """``changes``: role, active."""
        path = f"/users/{quoted(username)}"
        return cast(User, self._transport.json("PATCH", path, json=changes))

    def set_user_password(self, username: str, password: str | None = None) -> str | None:
        """The password that was made up when none was given."""
        path = f"/users/{quoted(username)}/password"
        answer = self._transport.json("POST", path, json={"password": password})
        return cast("str | None", answer["password"])

    def reset_second_factor(self, username: str) -> None:
        """Of somebody whose app and recovery codes are gone; never one's own."""
        self._transport.json("DELETE", f"/users/{quoted(username)}/second-factor")

    def second_factor(self) -> SecondFactor:
        return cast(SecondFactor, self._get("/session/second-factor"))

    def begin_second_factor(self, password: str) -> SecondFactorBegun:
        """A fresh secret for an app; it counts once a code of it came."""
        body = {"password": password}
        answer = self._transport.json("POST", "/session/second-factor", json=body)
        return cast(SecondFactorBegun, answer)

    def confirm_second_factor(self, code: str) -> list[str]:
        """The recovery codes, told once."""
        path = "/session/second-factor/confirm"
        answer = self._transport.json("POST", path, json={"code": code})
        return cast("list[str]", answer["recovery_codes"])

    def disable_second_factor(self, password: str, code: str) -> None:
        body = {"password": password, "code": code}
        self._transport.json("POST", "/session/second-factor/disable", json=body)

    def list_service_accounts(self) -> list[ServiceAccount]:
        """Accounts of programs, with those of their tokens that still work."""
        return list(self._items("/service-accounts"))

    def create_service_account(
        self, name: str, role: str, *, days: int | None = None
    ) -> ServiceAccount:
        """``token`` is told in this answer only. Without ``days`` it works as long as set there."""
        body = {"name": name, "role": role, "days": days}
        return cast(ServiceAccount, self._transport.json("POST", "/service-accounts", json=body))

    def rotate_service_account(
        self, name: str, *, days: int | None = None, overlap_s: int = 86_400
    ) -> ServiceAccount:
        """A fresh ``token``, told in this answer only; older ones work on for ``overlap_s``."""
        path = f"/service-accounts/{quoted(name)}/rotate"
        body = {"days": days, "overlap_s": overlap_s}
        return cast(ServiceAccount, self._transport.json("POST", path, json=body))

    def update_service_account(self, name: str, role: str) -> ServiceAccount:
        path = f"/service-accounts/{quoted(name)}"
        return cast(ServiceAccount, self._transport.json("PATCH", path, json={"role": role}))

    def delete_service_account(self, name: str) -> None:
        """Its tokens end at once; the name is not given again."""
        self._transport.json("DELETE", f"/service-accounts/{quoted(name)}")

    def list_signing_keys(self) -> list[SigningKey]:
        """The public keys whose signatures of models count."""
        return cast(list[SigningKey], self._get("/signing-keys")["items"])

    def add_signing_key(self, public_key: str, comment: str) -> SigningKey:
        """``public_key`` is the text of minisign's .pub file; needs the role admin."""
        body = {"public_key": public_key, "comment": comment}
        return cast(SigningKey, self._transport.json("POST", "/signing-keys", json=body))

    def remove_signing_key(self, key_id: str) -> None:
        """Its signatures count no more; what they let run runs on."""
        self._transport.json("DELETE", f"/signing-keys/{quoted(key_id)}")

    def list_instance_types(self) -> list[InstanceType]:
        return list(self._items("/instance-types"))

    def get_instance_type(self, name: str) -> InstanceType:
        """By its name, or an alias such as Azure's machine sizes."""
        return cast(InstanceType, self._get(f"/instance-types/{quoted(name)}"))

    def _in_project(self) -> dict[str, str]:
        """What says in the body of something new where it goes."""
        return {"project": self.project} if self.project else {}

    def _get(self, path: str, **params: Any) -> Any:
        return self._transport.json("GET", path, params=params)

    def _items(self, path: str, **params: Any) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._get(path, limit=200, cursor=cursor, **params)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return


def quoted(part: str) -> str:
    return quote(part, safe="")
