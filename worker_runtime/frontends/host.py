"""All front ends of a server: started together, one started again when it ends, ended with it."""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from msgspec.structs import replace

from worker_runtime.config.settings import Listener, Settings
from worker_runtime.core.engine import Engine
from worker_runtime.core.manager import Manager
from worker_runtime.frontends.control import Control
from worker_runtime.frontends.copying import Copying
from worker_runtime.frontends.messages import CopyForm, CopyRules, Counts, Welcome
from worker_runtime.frontends.mirror import Mirror
from worker_runtime.frontends.ports import reserved
from worker_runtime.frontends.process import FrontEnd
from worker_runtime.listeners import not_started
from worker_runtime.machine import cores
from worker_runtime.observability.metrics.connections import Load, Refusals
from worker_runtime.observability.metrics.loop import LoopLag
from worker_runtime.observability.metrics.text import Family
from worker_runtime.protocols.admission import BUFFERED, most_buffered_bytes
from worker_runtime.types.listening import ConnectionLimits

logger = logging.getLogger(__name__)
_SOON_S = 0.1  # before one that ended at once is started again; doubled each time
_LATEST_S = 5.0
_LIVED_S = 10.0  # after which it is taken to have been sound
_ANSWER_S = 1.0  # that one has to say its counts
_LAST_S = 1.0  # beyond the grace, for a process to end


class FrontEnds:
    """``refusals`` and ``lag`` are the server's own, in which those of front ends are counted."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        manager: Manager,
        refusals: Refusals,
        lag: LoopLag,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._refusals = refusals
        self._lag = lag
        self._mirror = Mirror(engine, manager, Copying(manager, settings).forms)
        self._control = Control(
            engine, self._mirror, settings.http_options.max_input_bytes, self.look
        )
        self._sockets: dict[str, list[socket.socket]] = {}
        self._running: dict[int, FrontEnd] = {}
        self._watches: list[asyncio.Task[None]] = []
        self._questions = count(1)
        self._asked = 0
        self._counted = asyncio.Event()
        self._stopping = False

    # --- life ------------------------------------------------------------------------------------

    def reserve(self, what: str, listener: Listener) -> int:
        """Listen for all of them, for HTTP or GRPC; gives the port. Raises OSError."""
        try:
            found = reserved(listener, self._settings.frontends)
        except OSError as error:
            raise not_started(what, listener, error) from error
        self._sockets[what.lower()] = found
        return int(found[0].getsockname()[1])

    async def start(self) -> None:
        """Raises OSError when one of them cannot serve: with TLS files that are none, say."""
        places = range(self._settings.frontends)
        await asyncio.gather(*(self._begin(place) for place in places))
        await asyncio.gather(*(self._running[place].started for place in places))
        self._watches = [asyncio.ensure_future(self._watch(place)) for place in places]

    def publish(self) -> None:
        """Tell them, if anything has changed that they must know."""
        self._mirror.publish()

    async def close(self, grace_s: float) -> None:
        """End them; answers have ``grace_s`` seconds to be read."""
        self._stopping = True
        for watch in self._watches:
            watch.cancel()
        for sockets in self._sockets.values():
            for one in sockets:
                one.close()
        running = list(self._running.values())
        for front_end in running:
            front_end.close(grace_s)
        ends = [asyncio.ensure_future(front_end.gone.wait()) for front_end in running]
        if ends:
            _, late = await asyncio.wait(ends, timeout=grace_s + _LAST_S)
            for end in late:
                end.cancel()
        for front_end in running:
            if not front_end.gone.is_set():
                front_end.kill()
        await asyncio.gather(*(front_end.reaped() for front_end in running))

    async def _begin(self, place: int, spared: tuple[CopyForm, ...] = ()) -> FrontEnd:
        front_end = FrontEnd(self._engine, self._control, self._mirror, self._took_counts, spared)
        self._running[place] = front_end
        await front_end.start(
            self._welcome(place),
            tuple([sockets[place].fileno() for sockets in self._sockets.values()]),
        )
        return front_end

    async def _watch(self, place: int) -> None:
        """Start it again whenever it ends."""
        loop, delay_s = asyncio.get_running_loop(), 0.0
        while True:
            began = loop.time()
            front_end = self._running[place]
            await front_end.gone.wait()
            pid, code = front_end.pid, await front_end.reaped()
            if front_end.counts is not None:
                self._keep(front_end.counts)
            if loop.time() - began >= _LIVED_S:
                delay_s = 0.0
            logger.error(
                "front end %d has ended with code %d: its connections are lost, it is started "
                "again in %g s",
                *(pid, code, delay_s),
            )
            # why: the memory may not be enough for them, and it would end again and again
            spared = self._mirror.copies if front_end.loads else ()
            if spared:
                logger.error("it ended while it loaded models: the core alone runs them for it")
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2 or _SOON_S, _LATEST_S)
            try:
                await self._begin(place, spared)
            except OSError as error:
                logger.error("a front end cannot be started: %s", error)
                self._running[place].kill()
                self._running[place].gone.set()

    def _welcome(self, place: int) -> Welcome:
        settings = self._settings

        def own(name: str, listener: Listener) -> Listener:
            sockets = self._sockets.get(name)
            return replace(listener, descriptor=sockets[place].fileno() if sockets else None)

        return Welcome(
            http=own("http", settings.http),
            http_options=settings.http_options,
            grpc=own("grpc", settings.grpc),
            grpc_options=settings.grpc_options,
            limits=shared_out(settings.connection_limits, settings.frontends),
            client_shared_memory=settings.client_shared_memory,
            handlers=self._control.handlers,
            queries=self._control.queries,
            copies=copy_rules(settings),
        )

    # --- metrics ---------------------------------------------------------------------------------

    async def look(self) -> None:
        """Ask all of them what they carry; who does not say counts with what it said last."""
        self._asked = next(self._questions)
        for front_end in self._running.values():
            front_end.count(self._asked)
        end = asyncio.get_running_loop().time() + _ANSWER_S
        while self._unheard and (left := end - asyncio.get_running_loop().time()) > 0:
            self._counted.clear()
            try:
                await asyncio.wait_for(self._counted.wait(), left)
            except TimeoutError:
                return

    @property
    def _unheard(self) -> bool:
        return any(
            one.counts is None or one.counts.question < self._asked
            for one in self._running.values()
            if one.started.done() and not one.gone.is_set()
        )

    def _took_counts(self, _front_end: FrontEnd, _counts: Counts) -> None:
        self._counted.set()

    def _keep(self, counts: Counts) -> None:
        """Counters never fall: what one had counted that has ended is the server's own now."""
        self._refusals.counts.update({(p, reason): n for p, reason, n in counts.refusals})
        self._lag.add(counts.lag, counts.lag_s)

    @property
    def _counts(self) -> list[Counts]:
        found = [one.counts for one in self._running.values() if not one.gone.is_set()]
        return [counts for counts in found if counts is not None]

    def load(self) -> Mapping[str, Load]:
        """Connections and requests in flight, by protocol, of all of them."""
        found = {name: Load(0, 0) for name in self._sockets}
        for counts in self._counts:
            for name, (connections, in_flight) in counts.load.items():
                held = found[name]
                found[name] = Load(held.connections + connections, held.in_flight + in_flight)
        return found

    def collect(self) -> Iterator[Family]:
        """Refusals, the loops' lag and bytes that are held, of all of them and of the core."""
        refusals, lag = Refusals(), LoopLag()
        lag.add(self._lag.counts, self._lag.total_s)
        refusals.counts = Counter(self._refusals.counts)
        buffered = 0
        for counts in self._counts:
            refusals.counts.update({(p, reason): n for p, reason, n in counts.refusals})
            lag.add(counts.lag, counts.lag_s)
            buffered += counts.buffered
        yield from lag.collect()
        yield from refusals.collect()
        family = Family(*BUFFERED, "gauge")
        family.add({}, buffered)
        yield family


def copy_rules(settings: Settings) -> CopyRules:
    return CopyRules(
        # why so: together they compute with all cores, and each with no more than its part
        cores=max(1, cores() // settings.frontends),
        backend_settings={name: dict(held) for name, held in settings.backend_settings.items()},
        allow_code=settings.allow_code,
        longest_wait_ns=settings.max_queue_wait_ms * 1_000_000,
        unload_timeout_s=settings.unload_timeout_s,
        metrics=settings.metrics_config,
    )


def shared_out(limits: ConnectionLimits, number: int) -> ConnectionLimits:
    """The part of one front end of ``number`` in what all clients may take; never nothing."""
    connections, held = limits.connections, limits.buffered_bytes
    if held is None:
        held = most_buffered_bytes()
    return replace(
        limits,
        connections=-(-connections // number) if connections else connections,
        buffered_bytes=-(-held // number) if held else held,
    )
