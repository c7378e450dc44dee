"""The client's calls that change what runs and who answers.

Where they take ``supersede``, what is under way there is cancelled first instead of a refusal
(``OperationInProgress``); a deletion goes on, and if this change is refused, the first goes on too.
"""

from collections.abc import Mapping
from typing import Any, Final, TypedDict, cast

from shoal.client.administration import quoted
from shoal.client.transport import Transport
from shoal.client.types import Deployment, Endpoint, Operation

ACCEPTED: Final = 202  # with the operation that does it
DRY_RUN: Final = {"dry_run": "true"}


class PlannedCount(TypedDict):
    at: float  # Unix seconds
    count: int  # replicas from then on
    reason: str


class AutoscalePreview(TypedDict):
    least: int
    most: int
    replica_hours: float
    seconds: float  # that were looked at
    measured_s: float  # of these, with samples
    changes: list[PlannedCount]
    ignored: list[str]  # targets of which nothing of before tells


class Deployments:
    """A part of ``Client``."""

    _transport: Transport

    def create_deployment(
        self,
        endpoint: str,
        body: Mapping[str, Any],
        *,
        supersede: bool = False,
        skip_golden: bool = False,
    ) -> Operation:
        """``body``: name, model, version, instance_count, traffic, replace, ..., as in REST.

        ``skip_golden``: it gets its traffic without being asked golden cases first."""
        path = f"/endpoints/{quoted(endpoint)}/deployments"
        return self._changed(
            "POST", path, json=dict(body), supersede=supersede, skip_golden=skip_golden
        )

    def preview_autoscaling(
        self,
        endpoint: str,
        deployment: str,
        *,
        autoscale: Mapping[str, Any] | None = None,
        hours: int = 24,
    ) -> AutoscalePreview:
        """What a policy would have done with what the last ``hours`` carried; nothing changes.

        ``autoscale``: as in REST; None: the policy that the deployment has.
        """
        body = {"autoscale": None if autoscale is None else dict(autoscale), "hours": hours}
        path = f"{_path(endpoint, deployment)}/autoscale/preview"
        return cast(AutoscalePreview, self._transport.json("POST", path, json=body))

    def get_deployment(self, endpoint: str, name: str) -> Deployment:
        return cast(Deployment, self._transport.json("GET", _path(endpoint, name)))

    def change_deployment(
        self,
        endpoint: str,
        name: str,
        *,
        supersede: bool = False,
        skip_golden: bool = False,
        **changes: Any,
    ) -> Operation | None:
        """All of ``changes``, or none of them where the server refuses one; None when no replica
        has to start or to go.

        They are: model, version, config_revision, environment, instance_count, tags, ..., as in
        REST; None takes a setting away. The old replicas answer until the new ones do, and stay if
        those never do, or answer golden cases otherwise; ``skip_golden``: nobody asks these.
        """
        params = _flags(supersede=supersede, skip_golden=skip_golden)
        answer = self._transport.send("PATCH", _path(endpoint, name), json=changes, params=params)
        return cast(Operation, answer.json()) if answer.status_code == ACCEPTED else None

    def rollback_deployment(
        self, endpoint: str, name: str, revision: int | None = None, *, supersede: bool = False
    ) -> Operation:
        """``revision``: default the last before this one that came up."""
        path, body = f"{_path(endpoint, name)}/rollback", {"revision": revision}
        return self._changed("POST", path, json=body, supersede=supersede)

    def ask_deployment(
        self, endpoint: str, name: str, body: Mapping[str, Any], *, new: bool
    ) -> None:
        """Whether ``create_deployment`` (``new``) or ``change_deployment`` would be accepted;
        nothing is changed. Raises Problem as they would."""
        place, body = _path(endpoint, name), dict(body)
        if new:
            place, body = f"/endpoints/{quoted(endpoint)}/deployments", {**body, "name": name}
        self._transport.send("POST" if new else "PATCH", place, json=body, params=DRY_RUN)

    def stop_deployment(
        self, endpoint: str, name: str, *, force: bool = False, supersede: bool = False
    ) -> Operation:
        """No replicas, all else stays. ``force``: even if it answers requests."""
        path = f"{_path(endpoint, name)}/stop"
        return self._changed("POST", path, force=force, supersede=supersede)

    def start_deployment(self, endpoint: str, name: str, *, supersede: bool = False) -> Operation:
        """As many replicas as before it was stopped."""
        return self._changed("POST", f"{_path(endpoint, name)}/start", supersede=supersede)

    def restart_deployment(self, endpoint: str, name: str) -> Operation:
        """Each replica gives way to a fresh one, which answers first."""
        return self._changed("POST", f"{_path(endpoint, name)}/restart")

    def delete_deployment(self, endpoint: str, name: str, *, force: bool = False) -> Operation:
        """``force``: even if it answers requests; the others take its share over. What is under
        way there is cancelled."""
        return self._changed("DELETE", _path(endpoint, name), force=force)

    def set_traffic(
        self, name: str, traffic: Mapping[str, int], *, supersede: bool = False
    ) -> Endpoint:
        """``traffic`` maps deployments to percent; the sum is 100, or 0 to close the endpoint."""
        path, body = f"/endpoints/{quoted(name)}/traffic", {"traffic": dict(traffic)}
        params = _flags(supersede=supersede)
        return cast(Endpoint, self._transport.json("PUT", path, json=body, params=params))

    def start_deploy(
        self,
        model: str,
        version: int,
        *,
        endpoint: str | None = None,
        deployment: str | None = None,
        instance_count: int | None = None,
        config_revision: int | None = None,
        traffic: int | None = None,
        rollout: Mapping[str, Any] | None = None,
        supersede: bool = False,
        skip_golden: bool = False,
    ) -> Operation:
        """Starts a deployment of a registered version; it gets ``traffic`` percent once Ready, 100
        unless said. ``rollout`` gives it its traffic step by step instead, from then on: what
        ``start_rollout`` takes, ``{}`` for its defaults. ``skip_golden``: it gets its traffic
        without being asked golden cases first.

        Asking twice is harmless: the server returns the operation under way, and does not start
        again what runs as asked.
        """
        optional: dict[str, Any] = {
            "endpoint": endpoint,
            "deployment": deployment,
            "instance_count": instance_count,
            "config_revision": config_revision,
        }
        if traffic is None and rollout is None:
            traffic = 100
        optional |= {"traffic": traffic, "rollout": rollout}
        body = {"model": model, "version": version}
        body |= {key: value for key, value in optional.items() if value is not None}
        return self._changed(
            "POST", "/deploy", json=body, supersede=supersede, skip_golden=skip_golden
        )

    def _changed(
        self, method: str, path: str, *, json: Mapping[str, Any] | None = None, **flags: bool
    ) -> Operation:
        answer = self._transport.json(method, path, json=json, params=_flags(**flags))
        return cast(Operation, answer)


def _path(endpoint: str, name: str) -> str:
    return f"/endpoints/{quoted(endpoint)}/deployments/{quoted(name)}"


def _flags(**flags: bool) -> dict[str, str]:
    return {name: "true" for name, on in flags.items() if on}
