"""Alerts and channels: the calls of ``shoal.sdk``, awaited."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeVar

from shoal import entities, sdk
from shoal.aio.bridge import run
from shoal.client.alert_types import (
    Alert,
    AlertRule,
    AlertThreshold,
    Channel,
    ChannelMade,
    Delivery,
    Silence,
)

T = TypeVar("T")


async def _each(found: Callable[[], Iterable[T]]) -> AsyncIterator[T]:
    for item in await run(found):
        yield item


class AlertOperations:
    """``ml_client.alerts``."""

    def __init__(self, blocking: sdk.AlertOperations) -> None:
        self._blocking = blocking

    def list(self, **options: Any) -> AsyncIterator[Alert]:
        """``options``: states, rule, subject."""
        return _each(lambda: self._blocking.list(**options))

    async def get(self, alert_id: str) -> Alert:
        return await run(self._blocking.get, alert_id)

    async def acknowledge(self, alert_id: str) -> Alert:
        return await run(self._blocking.acknowledge, alert_id)

    def rules(self) -> AsyncIterator[AlertRule]:
        return _each(self._blocking.rules)

    async def change_rule(self, name: str, **changes: Any) -> AlertRule:
        return await run(self._blocking.change_rule, name, **changes)

    async def get_rule(self, name: str) -> AlertRule:
        return await run(self._blocking.get_rule, name)

    async def update_rules(
        self, rules: Sequence[entities.AlertRule], *, reset: bool = False
    ) -> Sequence[tuple[AlertRule, AlertRule]]:
        return await run(self._blocking.update_rules, rules, reset=reset)

    async def get_threshold(self, rule: str, about: str) -> AlertThreshold:
        return await run(self._blocking.get_threshold, rule, about)

    async def set_threshold(self, rule: str, about: str, threshold: float | None) -> AlertThreshold:
        return await run(self._blocking.set_threshold, rule, about, threshold)

    def silences(self) -> AsyncIterator[Silence]:
        return _each(self._blocking.silences)

    async def silence(self, **options: Any) -> Silence:
        """``options``: ends_at, reason, rule, subject, project."""
        return await run(self._blocking.silence, **options)

    async def create_silence(self, silence: entities.Silence) -> Silence:
        return await run(self._blocking.create_silence, silence)

    async def end_silence(self, silence_id: str) -> Silence:
        return await run(self._blocking.end_silence, silence_id)


class ChannelOperations:
    """``ml_client.channels``."""

    def __init__(self, blocking: sdk.ChannelOperations) -> None:
        self._blocking = blocking

    async def create(self, name: str, kind: str, **settings: Any) -> ChannelMade:
        return await run(self._blocking.create, name, kind, **settings)

    async def update(self, name: str, **settings: Any) -> Channel:
        return await run(self._blocking.update, name, **settings)

    async def create_or_update(self, channel: entities.Channel) -> Channel | ChannelMade:
        return await run(self._blocking.create_or_update, channel)

    async def get(self, name: str) -> Channel:
        return await run(self._blocking.get, name)

    def list(self) -> AsyncIterator[Channel]:
        return _each(self._blocking.list)

    async def delete(self, name: str) -> None:
        await run(self._blocking.delete, name)

    async def test(self, name: str) -> Delivery:
        return await run(self._blocking.test, name)

    def deliveries(self, name: str) -> AsyncIterator[Delivery]:
        return _each(lambda: self._blocking.deliveries(name))

    async def replay(self, name: str, delivery_id: str) -> Delivery:
        return await run(self._blocking.replay, name, delivery_id)
