"""Online endpoints: made, described, given traffic, called, deleted."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.client.client import Client
from shoal.client.errors import NotConfirmed, Problem, ShoalError
from shoal.client.types import Endpoint, Operation
from shoal.display.watcher import Watcher
from shoal.entities import EndpointAuthKeys, EndpointAuthToken, OnlineEndpoint
from shoal.sdk import scoring
from shoal.sdk.local_endpoints import LocalEndpoints
from shoal.sdk.poller import LROPoller, Work, finished
from shoal.sdk.shapes import endpoint_body, endpoint_of

MOVING = frozenset({"Creating", "Updating", "Scaling"})
# A gateway counts as silent after 15 s; then the answer names it.
ROUTED_S, ROUTED_POLL_S = 20.0, 0.1


class OnlineEndpointOperations:
    """``ml_client.online_endpoints``."""

    def __init__(self, client: Client, watcher: Watcher, local: LocalEndpoints) -> None:
        self._client, self._watcher, self._local = client, watcher, local

    def begin_create_or_update(
        self,
        endpoint: OnlineEndpoint | LROPoller[OnlineEndpoint],
        *,
        supersede: bool = False,
        local: bool = False,
    ) -> LROPoller[OnlineEndpoint]:
        """Traffic is set where the entity names some, or came from ``get``.

        ``supersede``: cancel what is about to move the traffic; not in Azure's SDK. ``local``: on
        this machine alone, without an installation.
        """
        entity = endpoint.result() if isinstance(endpoint, LROPoller) else endpoint
        for note in entity.notes:
            self._watcher.note(note)
        if local:
            return LROPoller(finished(self._local.put_endpoint(entity)), self._client)
        work = self._apply(entity, supersede=supersede)
        return LROPoller(work, self._client, self._watcher.operation)

    def check(self, endpoint: OnlineEndpoint, deployments: Collection[str] = ()) -> None:
        """Ask what ``begin_create_or_update`` would be asked, and change nothing. Not in Azure's
        SDK. Raises what that raises.

        ``deployments`` are to be made before its traffic is set.
        """
        name, body = str(endpoint.name), endpoint_body(endpoint)
        shown: Endpoint | None = None
        try:
            shown = self._client.get_endpoint(name)
        except Problem as problem:
            if not problem.is_not_found:
                raise
            self._client.ask_endpoint(name, new=True, **body)
        else:
            self._client.ask_endpoint(name, new=False, **_changed(shown, body))
        there = {item["name"] for item in shown["deployments"]} if shown else set()
        shares = {
            "traffic": endpoint.traffic or {},
            "mirror_traffic": endpoint.mirror_traffic or {},
        }
        for field, named in {**shares, "traffic_rules": _ruled(endpoint)}.items():
            _shared_out(field, named, there | set(deployments))

    def get(self, name: str, *, local: bool = False) -> OnlineEndpoint:
        if self._local.means(name, local=local):
            return self._local.get_endpoint(name)
        return endpoint_of(self._client.get_endpoint(name))

    def list(self, *, local: bool = False) -> Iterator[OnlineEndpoint]:
        if local:
            return iter(self._local.list_endpoints())
        return (endpoint_of(shown) for shown in self._client.list_endpoints())

    def begin_delete(self, name: str | None = None, *, local: bool = False) -> LROPoller[None]:
        if self._local.means(str(name), local=local):
            self._local.delete_endpoint(str(name))
            return LROPoller(finished(None), self._client)
        return LROPoller(self._delete(str(name)), self._client, self._watcher.operation)

    def get_keys(self, name: str) -> EndpointAuthKeys | EndpointAuthToken:
        """Two keys, or where the endpoint says ``aml_token`` a token that expires."""
        if endpoint_of(self._client.get_endpoint(name)).auth_mode != "key":
            token = self._client.create_endpoint_token(name)
            return EndpointAuthToken(
                access_token=token["accessToken"],
                expiry_time_utc=token["expiryTimeUtc"],
                refresh_after_time_utc=token["refreshAfterTimeUtc"],
                token_type=token["tokenType"],
            )
        keys = self._client.get_keys(name)
        return EndpointAuthKeys(primary_key=keys["primaryKey"], secondary_key=keys["secondaryKey"])

    list_keys = get_keys

    def begin_regenerate_keys(self, name: str, *, key_type: str = "primary") -> LROPoller[None]:
        """Returns once every gateway refuses the old key.

        Raises NotConfirmed where one is not known to do so; the key is new then as well.
        """
        return LROPoller(self._regenerate(name, key_type.lower()), self._client)

    regenerate_keys = begin_regenerate_keys

    def invoke(
        self,
        endpoint_name: str,
        *,
        request_file: str | Path | None = None,
        deployment_name: str | None = None,
        input_data: Any = None,
        params_override: Any = None,
        local: bool = False,
        **_: Any,
    ) -> str:
        """The answer's text. The body is ``request_file``'s, or ``input_data`` (text, bytes, JSON).

        ``local``: of this machine; where there is no such endpoint, the installation's, of which
        the only deployment answers then, also without traffic. Raises scoring.ScoringFailed with
        the endpoint's own message.
        """
        del params_override
        if self._local.means(endpoint_name, local=local):
            content = scoring.body(request_file, input_data)
            return self._local.invoke(endpoint_name, deployment_name, content)
        shown = self._client.get_endpoint(endpoint_name)
        if local and deployment_name is None:
            deployment_name = _only(shown)
        secret = scoring.secret(self._client, shown)
        content = scoring.body(request_file, input_data)
        return scoring.post(shown, secret, content, deployment_name, self._client)

    def set_traffic(
        self,
        name: str,
        traffic: Mapping[str, int] | None,
        mirror: Mapping[str, int] | None = None,
        *,
        rules: Sequence[Mapping[str, Any]] | None = None,
        sticky: Mapping[str, Any] | None = None,
        supersede: bool = False,
    ) -> LROPoller[OnlineEndpoint]:
        """Replace the whole map; deployments that are still coming up are waited for.

        ``rules`` and ``sticky``: ``traffic_rules`` and ``sticky`` of ``OnlineEndpoint``; None
        leaves them, and what is empty takes them away. ``supersede``: wait for none, and cancel
        what is about to move the traffic.
        """
        work = self._share(name, traffic, mirror, rules=rules, sticky=sticky, supersede=supersede)
        return LROPoller(work, self._client, self._watcher.operation)

    def _apply(self, endpoint: OnlineEndpoint, *, supersede: bool) -> Work[OnlineEndpoint]:
        name, body = str(endpoint.name), endpoint_body(endpoint)
        known = bool(endpoint.shown)
        traffic = endpoint.traffic if endpoint.traffic or known else None
        mirror = endpoint.mirror_traffic if endpoint.mirror_traffic or known else None
        try:
            shown = self._client.get_endpoint(name)
        except Problem as problem:
            if not problem.is_not_found:
                raise
            _nobody_to_share(name, traffic, mirror, _ruled(endpoint))
            return endpoint_of(self._routed(self._client.create_endpoint(name, **body)))
        changes = _changed(shown, {**body, **_rules(endpoint)})
        return (yield from self._change(shown, changes, traffic, mirror, supersede=supersede))

    def _share(
        self,
        name: str,
        traffic: Mapping[str, int] | None,
        mirror: Mapping[str, int] | None,
        *,
        rules: Sequence[Mapping[str, Any]] | None = None,
        sticky: Mapping[str, Any] | None = None,
        supersede: bool,
    ) -> Work[OnlineEndpoint]:
        told = OnlineEndpoint(
            name=name,
            traffic_rules=None if rules is None else [dict(rule) for rule in rules],
            sticky=None if sticky is None else dict(sticky),
        )
        shown = self._client.get_endpoint(name)
        kept = {} if told.sticky is None else {"sticky": told.sticky or None}
        changes = _changed(shown, {**_rules(told), **kept})
        return (yield from self._change(shown, changes, traffic, mirror, supersede=supersede))

    def _change(
        self,
        shown: Endpoint,
        changes: dict[str, Any],
        traffic: Mapping[str, int] | None,
        mirror: Mapping[str, int] | None,
        *,
        supersede: bool,
    ) -> Work[OnlineEndpoint]:
        """In one request, so that nothing is changed where a part of it is refused."""
        if traffic is not None and _positive(traffic) != shown["traffic"]:
            if not supersede:
                yield from self._under_way(shown, traffic)
            changes = {**changes, "traffic": _existing(traffic, shown)}
        if mirror is not None and _positive(mirror) != shown["mirror_traffic"]:
            changes = {**changes, "mirror_traffic": _positive(mirror)}
        if changes:
            shown = self._client.update_endpoint(shown["name"], supersede=supersede, **changes)
        shown = self._routed(shown)
        if shown.get("routed") is False:
            self._watcher.note(f"{shown['name']}: {unconfirmed_text(shown)}")
        return endpoint_of(shown)

    def _under_way(self, shown: Endpoint, traffic: Mapping[str, int]) -> Iterator[Operation]:
        """Operations of deployments that shall get traffic and are not ready for it yet."""
        for deployment in shown["deployments"]:
            wanted = traffic.get(deployment["name"])
            if wanted and deployment["provisioning_state"] in MOVING and deployment["operation"]:
                yield self._client.get_operation(deployment["operation"])

    def _routed(self, shown: Endpoint) -> Endpoint:
        """Once every gateway acts on the newest traffic and keys; not longer than ``ROUTED_S``."""
        waited_s = 0.0
        while shown.get("routed") is False and waited_s < ROUTED_S:
            self._client.concurrency.pause(ROUTED_POLL_S)
            waited_s += ROUTED_POLL_S
            shown = self._client.get_endpoint(shown["name"])
        return shown

    def _delete(self, name: str) -> Work[None]:
        yield self._client.delete_endpoint(name)

    def _regenerate(self, name: str, key_type: str) -> Work[None]:
        self._client.regenerate_key(name, key_type)
        shown = self._routed(self._client.get_endpoint(name))
        if shown.get("routed") is False:
            missing = shown.get("unconfirmed", [])
            raise NotConfirmed(
                f"The {key_type} key of {name} is new, but the old one may still open it",
                f"It is {unconfirmed_text(shown)}.",
                (
                    *(
                        f"Start the agent of {row['gateway']} again; or end its Envoy, then run "
                        f"`shoal gateway remove {row['gateway']}`."
                        for row in missing
                    ),
                    f"`shoal endpoint show {name}` says when all have confirmed it.",
                ),
            )
        yield from ()


def unconfirmed_text(shown: Endpoint) -> str:
    """Who is not known to act on the newest traffic and keys, in the words of all answers."""
    now = datetime.now(UTC)
    silences = [
        (row["gateway"], (now - datetime.fromisoformat(row["silent_since"])).total_seconds())
        for row in shown.get("unconfirmed", [])
    ]
    named = ", ".join(f"gateway {name} (silent for {max(0, age):.0f} s)" for name, age in silences)
    return f"not confirmed by {named or f'all gateways within {ROUTED_S:.0f} s'}"


def _only(shown: Endpoint) -> str | None:
    """The deployment that answers where traffic is not spoken of: as in Azure's local mode.

    None: traffic says who. Raises ShoalError where it could be one or another.
    """
    names = [item["name"] for item in shown["deployments"]]
    if shown["traffic"] or not names:
        return None
    if len(names) > 1:
        raise ShoalError(
            f"{shown['name']} has several deployments, and none has traffic",
            f"deployments: {', '.join(names)}",
            ["Name one with --deployment-name (deployment_name=), or give one traffic."],
        )
    return names[0]


def _shared_out(field: str, shares: Mapping[str, int], deployments: Collection[str]) -> None:
    """The installation's rule, for shares of deployments that are not there yet. Raises
    ShoalError."""
    missing = sorted(set(_positive(shares)) - set(deployments))
    if missing:
        known = ", ".join(sorted(deployments)) or "none"
        raise ShoalError(
            f"{field} names deployments that there are not",
            f"{', '.join(missing)}; the endpoint has {known}",
        )
    if field == "traffic" and sum(shares.values()) not in (0, 100):
        raise ShoalError("The shares of traffic do not add up to 100", f"{field}: {dict(shares)}")


def _nobody_to_share(name: str, *shares: Mapping[str, int] | None) -> None:
    """Raises ShoalError for shares of an endpoint that is new."""
    wanted = sorted({other for share in shares for other in _positive(share or {})})
    if wanted:
        raise ShoalError(
            f"There is no endpoint {name} yet, so nobody can have a share of its requests",
            f"traffic, mirror_traffic or traffic_rules of {', '.join(wanted)}",
            ["Create it without shares, then its deployments, then share the requests out."],
        )


def _rules(endpoint: OnlineEndpoint) -> dict[str, Any]:
    """Those that the entity names, perhaps none at all."""
    rules = endpoint.traffic_rules
    return {} if rules is None else {"traffic_rules": rules}


def _ruled(endpoint: OnlineEndpoint) -> dict[str, int]:
    """The deployments that its rules name, as if each had a share."""
    return {str(rule.get("deployment")): 1 for rule in endpoint.traffic_rules or ()}


def _positive(shares: Mapping[str, int]) -> dict[str, int]:
    return {name: int(percent) for name, percent in shares.items() if int(percent)}


def _existing(traffic: Mapping[str, int], shown: Endpoint) -> dict[str, int]:
    """Without zeros for what is not there (any more): nothing is asked for it."""
    names = {deployment["name"] for deployment in shown["deployments"]}
    return {name: int(share) for name, share in traffic.items() if int(share) or name in names}


def _changed(shown: Endpoint, body: Mapping[str, Any]) -> dict[str, Any]:
    current: Mapping[str, Any] = shown
    return {name: value for name, value in body.items() if current.get(name) != value}
