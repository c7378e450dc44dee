"""Alerts and channels. Azure's SDK has nothing like them."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from shoal import entities
from shoal.client.alert_types import (
    Alert,
    AlertRule,
    AlertThreshold,
    Channel,
    ChannelMade,
    Delivery,
    Silence,
)
from shoal.client.client import Client
from shoal.client.errors import ShoalError

BUILT_IN: Final = {"enabled": True, "threshold": None, "for_s": None, "severity": None}


class AlertOperations:
    """``ml_client.alerts``; an alert is as in REST."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(
        self, *, states: Iterable[str] = ("pending", "firing"), rule: str = "", subject: str = ""
    ) -> list[Alert]:
        """The active ones, newest first; with ``states=()`` resolved ones as well."""
        return self._client.list_alerts(states=states, rule=rule, subject=subject)

    def get(self, alert_id: str) -> Alert:
        return self._client.get_alert(alert_id)

    def acknowledge(self, alert_id: str) -> Alert:
        return self._client.acknowledge_alert(alert_id)

    def rules(self) -> Sequence[AlertRule]:
        return self._client.list_alert_rules()

    def change_rule(self, name: str, **changes: Any) -> AlertRule:
        """``changes``: enabled, threshold, for_s, severity; None is as it is built in."""
        return self._client.change_alert_rule(name, **changes)

    def get_rule(self, name: str) -> AlertRule:
        return self._client.get_alert_rule(name)

    def update_rules(
        self, rules: Sequence[entities.AlertRule], *, reset: bool = False
    ) -> Sequence[tuple[AlertRule, AlertRule]]:
        """What a file says: ``update_rules(load_alert_rules("rules.yml"))``; each as it was and as
        it is. What the file leaves out stays, or is as it is built in (``reset``).

        Raises EntityInvalid and Problem; only what the server alone can tell, the range of a
        threshold, when rules before it are changed."""
        known = {rule["name"]: rule for rule in self._client.list_alert_rules()}
        for rule in rules:
            if rule.name not in known:
                self._client.get_alert_rule(rule.name)  # whose refusal says what is meant, perhaps
        if faults := [fault for rule in rules for fault in rule.faults(known[rule.name])]:
            raise entities.EntityInvalid("The rules", faults)
        changed: list[tuple[AlertRule, AlertRule]] = []
        for rule in rules:
            values = {**(BUILT_IN if reset else {}), **rule.settings()}
            own = rule.own_thresholds(known[rule.name])
            item = known[rule.name]
            try:
                if values:
                    item = self._client.change_alert_rule(rule.name, **values)
                for about, threshold in own.items():
                    self._client.set_alert_threshold(rule.name, about, threshold)
                if own:
                    item = self._client.get_alert_rule(rule.name)
            except ShoalError as error:
                error.title = f"{rule.name}: {error.title}"
                if changed:
                    done = ", ".join(before["name"] for before, _ in changed)
                    error.hints = (*error.hints, f"These are as the file says already: {done}.")
                raise
            changed.append((known[rule.name], item))
        return changed

    def get_threshold(self, rule: str, about: str) -> AlertThreshold:
        """What counts for ``project/vision``, ``endpoint/quote`` or ``node/local``, and where that
        comes from."""
        return self._client.get_alert_threshold(rule, about)

    def set_threshold(self, rule: str, about: str, threshold: float | None) -> AlertThreshold:
        """Its own, from the next look on; None: it has none any more."""
        return self._client.set_alert_threshold(rule, about, threshold)

    def silences(self) -> Sequence[Silence]:
        return self._client.list_silences()

    def silence(
        self, *, ends_at: str, reason: str, rule: str = "", subject: str = "", project: str = ""
    ) -> Silence:
        """``ends_at``: ISO 8601. What is left out matches everything."""
        return self._client.silence_alerts(
            ends_at=ends_at, reason=reason, rule=rule, subject=subject, project=project
        )

    def create_silence(self, silence: entities.Silence) -> Silence:
        """What a file says: ``create_silence(load_silence("silence.yml"))``."""
        return self._client.silence_alerts(**silence.asked())

    def end_silence(self, silence_id: str) -> Silence:
        return self._client.end_silence(silence_id)


class ChannelOperations:
    """``ml_client.channels``; a channel is as in REST."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, name: str, kind: str, **settings: Any) -> ChannelMade:
        """``settings``: url, secret, recipients, severities, projects, enabled."""
        return self._client.create_channel(name, kind, **settings)

    def update(self, name: str, **settings: Any) -> Channel:
        return self._client.change_channel(name, **settings)

    def create_or_update(self, channel: entities.Channel) -> Channel | ChannelMade:
        """What a file says: ``create_or_update(load_channel("channel.yml"))``. Of one that is there
        what the file leaves out stays."""
        known = [one for one in self._client.list_channels() if one["name"] == channel.name]
        if not known:
            return self._client.create_channel(
                channel.name, channel.kind or "", **channel.settings()
            )
        return self._client.change_channel(channel.name, **channel.settings())

    def get(self, name: str) -> Channel:
        return self._client.get_channel(name)

    def list(self) -> list[Channel]:
        return self._client.list_channels()

    def delete(self, name: str) -> None:
        self._client.delete_channel(name)

    def test(self, name: str) -> Delivery:
        return self._client.test_channel(name)

    def deliveries(self, name: str) -> Sequence[Delivery]:
        return self._client.list_deliveries(name)

    def replay(self, name: str, delivery_id: str) -> Delivery:
        return self._client.replay_delivery(name, delivery_id)
