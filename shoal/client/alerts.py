"""The client's calls about alerts, silences, and where alerts are told."""

from collections.abc import Iterable
from typing import Any, cast

from shoal.client.administration import Administration, quoted
from shoal.client.alert_types import (
    Alert,
    AlertRule,
    AlertThreshold,
    Channel,
    ChannelMade,
    Delivery,
    Silence,
)
from shoal.client.deployments import DRY_RUN


class Alerts(Administration):
    """A part of ``Client``."""

    def list_alerts(
        self, *, states: Iterable[str] = (), rule: str = "", subject: str = "", project: str = ""
    ) -> list[Alert]:
        """The newest first. Without ``states`` resolved ones as well."""
        asked = {
            "state": ",".join(states),
            "rule": rule,
            "subject": subject,
            "project": project or self.project,
        }
        params = {name: value for name, value in asked.items() if value}
        return cast(list[Alert], list(self._items("/alerts", **params)))

    def get_alert(self, alert_id: str) -> Alert:
        return cast(Alert, self._get(f"/alerts/{quoted(alert_id)}"))

    def acknowledge_alert(self, alert_id: str) -> Alert:
        """Say that you look after it."""
        path = f"/alerts/{quoted(alert_id)}/acknowledge"
        return cast(Alert, self._transport.json("POST", path))

    def list_alert_rules(self) -> list[AlertRule]:
        return cast(list[AlertRule], self._get("/alert-rules")["items"])

    def get_alert_rule(self, name: str) -> AlertRule:
        return cast(AlertRule, self._get(f"/alert-rules/{quoted(name)}"))

    def change_alert_rule(self, name: str, **changes: Any) -> AlertRule:
        """``changes``: enabled, threshold, for_s, severity; None is as it is built in."""
        path = f"/alert-rules/{quoted(name)}"
        return cast(AlertRule, self._transport.json("PATCH", path, json=changes))

    def ask_alert_rule(self, name: str, **changes: Any) -> None:
        """Whether ``change_alert_rule`` would be accepted; nothing is changed. Raises Problem as
        that would."""
        self._transport.send("PATCH", f"/alert-rules/{quoted(name)}", json=changes, params=DRY_RUN)

    def get_alert_threshold(self, rule: str, about: str) -> AlertThreshold:
        """What counts for ``about`` ("project/vision", "endpoint/quote", "node/local"), and where
        that comes from. Raises ValueError for what is none of these."""
        return cast(AlertThreshold, self._get(_threshold(rule, about)))

    def set_alert_threshold(
        self, rule: str, about: str, threshold: float | None, *, seen: str | None = None
    ) -> AlertThreshold:
        """Its own; None: it has none any more. ``seen``: the ``etag`` of what you have read, over
        which alone it is written."""
        headers = None if seen is None else {"If-Match": seen}
        method, body = _wanted(threshold)
        found = self._transport.json(method, _threshold(rule, about), json=body, headers=headers)
        return cast(AlertThreshold, found)

    def ask_alert_threshold(self, rule: str, about: str, threshold: float | None) -> None:
        """The same of ``set_alert_threshold``."""
        method, body = _wanted(threshold)
        self._transport.send(method, _threshold(rule, about), json=body, params=DRY_RUN)

    def list_silences(self) -> list[Silence]:
        """Those that end last first; ended ones are kept for 90 days."""
        return cast(list[Silence], list(self._items("/silences")))

    def silence_alerts(
        self, *, ends_at: str, reason: str, rule: str = "", subject: str = "", project: str = ""
    ) -> Silence:
        """``ends_at``: ISO 8601. What is left out matches everything."""
        body = {
            "ends_at": ends_at,
            "reason": reason,
            "rule": rule,
            "subject": subject,
            "project": project,
        }
        return cast(Silence, self._transport.json("POST", "/silences", json=body))

    def ask_silence(self, **body: Any) -> None:
        """The same of ``silence_alerts``."""
        self._transport.send("POST", "/silences", json=body, params=DRY_RUN)

    def get_silence(self, silence_id: str) -> Silence:
        return cast(Silence, self._get(f"/silences/{quoted(silence_id)}"))

    def end_silence(self, silence_id: str) -> Silence:
        return cast(Silence, self._transport.json("DELETE", f"/silences/{quoted(silence_id)}"))

    def list_channels(self) -> list[Channel]:
        return cast(list[Channel], list(self._items("/channels")))

    def get_channel(self, name: str) -> Channel:
        return cast(Channel, self._get(_channel(name)))

    def create_channel(self, name: str, kind: str, **settings: Any) -> ChannelMade:
        """``settings``: url, secret, recipients, severities, projects, enabled. ``secret`` of the
        answer is shown this once."""
        body = {"name": name, "kind": kind, **settings}
        return cast(ChannelMade, self._transport.json("POST", "/channels", json=body))

    def change_channel(self, name: str, **settings: Any) -> Channel:
        return cast(Channel, self._transport.json("PATCH", _channel(name), json=settings))

    def ask_channel(self, name: str, *, kind: str = "", **settings: Any) -> None:
        """Whether ``create_channel`` (with ``kind``) or ``change_channel`` would be accepted;
        nothing is changed. Raises Problem as they would."""
        if kind:
            body = {"name": name, "kind": kind, **settings}
            self._transport.send("POST", "/channels", json=body, params=DRY_RUN)
        else:
            self._transport.send("PATCH", _channel(name), json=settings, params=DRY_RUN)

    def compare_channel(self, name: str, **sealed: str) -> list[str]:
        """Which of ``url`` and ``secret``, as given, are others than those that are kept."""
        found = self._transport.json("POST", f"{_channel(name)}/compare", json=sealed)
        return list(found["different"])

    def delete_channel(self, name: str) -> None:
        self._transport.json("DELETE", _channel(name))

    def test_channel(self, name: str) -> Delivery:
        """Sent when this returns; ``status`` and ``log`` say what came of it."""
        # why no repeat: each is a message to people
        return cast(Delivery, self._transport.json("POST", f"{_channel(name)}/test", repeat=False))

    def list_deliveries(self, name: str) -> list[Delivery]:
        return cast(list[Delivery], list(self._items(f"{_channel(name)}/deliveries")))

    def replay_delivery(self, name: str, delivery_id: str) -> Delivery:
        """The same message once more, signed anew."""
        path = f"{_channel(name)}/deliveries/{quoted(delivery_id)}/replay"
        return cast(Delivery, self._transport.json("POST", path, repeat=False))


def _channel(name: str) -> str:
    return f"/channels/{quoted(name)}"


def _wanted(threshold: float | None) -> tuple[str, dict[str, float] | None]:
    return ("DELETE", None) if threshold is None else ("PUT", {"threshold": threshold})


def _threshold(rule: str, about: str) -> str:
    kind, _, name = about.partition("/")
    if not (kind and name):
        raise ValueError(f"about: {about!r}, expected project/NAME, endpoint/NAME or node/NAME")
    return f"/alert-rules/{quoted(rule)}/thresholds/{quoted(kind)}/{quoted(name)}"
