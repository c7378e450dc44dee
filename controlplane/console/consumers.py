"""The two sockets of the studio: thin, all meaning is in hub and calls."""

import asyncio
import logging

from channels.generic.websocket import AsyncWebsocketConsumer

from controlplane.accounts.policy import PEOPLE, Permission
from controlplane.console import frames
from controlplane.console.bench import Bench
from controlplane.console.database import in_database
from controlplane.console.feeds import of_projects, tells_of_people
from controlplane.console.hub import hub
from controlplane.console.outbox import Outbox
from controlplane.console.watch import Watch
from controlplane.core.errors import Forbidden, NotFound
from controlplane.deployments.selectors import endpoint_get

logger = logging.getLogger(__name__)

NOT_FOUND, OVERFLOW = 4404, 4408
MAX_TOPICS = 50
NO_LAYER = "none"  # a consumer with a channel layer dies with Redis


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """``/ws/v1``: one socket per tab, any number of topics."""

    channel_layer_alias = NO_LAYER

    async def connect(self) -> None:
        self.topics: set[str] = set()
        self.outbox = Outbox(self._send, self._overflow)
        self.sender: asyncio.Task[None] | None = None
        await self.accept()
        self.watch = Watch(self.scope, self.close, also=self._look)
        # why accept first: browsers do not learn the code of a refused handshake
        if not await self.watch.begin(Permission.READ):
            return
        self.sender = asyncio.create_task(self.outbox.run())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        del bytes_data  # requests are text
        if self.sender is None:
            return
        try:
            if text_data is None:
                raise frames.BadRequest("BadRequest", "Requests are text.")
            await self._act(frames.parse(text_data))
        except frames.BadRequest as error:
            self.outbox.put(frames.error(error.code, str(error), error.topic))

    async def _act(self, request: frames.Request) -> None:
        match request:
            case frames.Subscribe(topic=topic):
                if len(self.topics) >= MAX_TOPICS and topic not in self.topics:
                    raise frames.BadRequest("TooManyTopics", f"At most {MAX_TOPICS}.", topic)
                try:
                    await self.watch.see(topic)
                    if of_projects(topic):
                        self.outbox.projects = await self.watch.projects()
                    people = tells_of_people(topic) and await self.watch.hold(PEOPLE)
                    await hub().follow(self.outbox, request, people=people)
                except (NotFound, Forbidden) as refused:
                    raise frames.BadRequest(refused.code, refused.message, topic) from refused
                except Exception as error:
                    # why any: one topic that cannot be read must not take the others down
                    logger.exception("Topic %s cannot be followed", topic)
                    raise frames.BadRequest("Unavailable", "Cannot be read now.", topic) from error
                self.topics.add(topic)
            case frames.Unsubscribe(topic=topic):
                self.topics.discard(topic)
                hub().leave(self.outbox, topic)
            case frames.Rate(hz=hz):
                # why a little less: a tick that is due must not be dropped for a millisecond
                self.outbox.min_interval_s = 0.0 if hz >= frames.MAX_HZ else 0.9 / hz

    async def _look(self) -> None:
        """Leave what its user may not see any more."""
        for topic in list(self.topics):
            try:
                await self.watch.see(topic)
            except (NotFound, Forbidden) as refused:
                self.topics.discard(topic)
                hub().leave(self.outbox, topic)
                self.outbox.put(frames.error(refused.code, refused.message, topic))

    async def disconnect(self, code: int) -> None:
        del code
        self.watch.end()
        if self.sender is not None:
            self.sender.cancel()
        hub().leave_all(self.outbox)

    async def _send(self, frame: str) -> None:
        await self.send(text_data=frame)

    async def _overflow(self) -> None:
        logger.warning("A live socket does not read its frames; closing it")
        await self.close(OVERFLOW)


class ConsoleConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """``/ws/v1/console/<endpoint>``: the test console of one endpoint."""

    channel_layer_alias = NO_LAYER

    async def connect(self) -> None:
        self.bench: Bench | None = None
        endpoint = self.scope["url_route"]["kwargs"]["endpoint"]
        self.topic = f"endpoint:{endpoint}"
        await self.accept()
        self.watch = Watch(self.scope, self.close, also=self._look)
        if not await self.watch.begin(Permission.READ):
            return
        try:
            await self.watch.see(self.topic)
            await in_database(endpoint_get)(endpoint)
        except NotFound:
            await self.close(NOT_FOUND)
            return
        self.bench = Bench(endpoint, self._send)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.bench is None:
            return
        if bytes_data is not None:
            await self.bench.receive_bytes(bytes_data)
        else:
            may_infer = await self._may(Permission.INVOKE)
            await self.bench.receive(text_data or "", may_infer=may_infer)

    async def _may(self, permission: Permission) -> bool:
        try:
            await self.watch.see(self.topic, permission)
        except (NotFound, Forbidden):
            return False
        return True

    async def _look(self) -> None:
        if not await self._may(Permission.READ):
            await self.close(NOT_FOUND)

    async def disconnect(self, code: int) -> None:
        del code
        self.watch.end()
        if self.bench is not None:
            await self.bench.close()

    async def _send(self, frame: str) -> None:
        await self.send(text_data=frame)
