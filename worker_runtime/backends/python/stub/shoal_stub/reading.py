"""Who reads the socket: whoever waits for a message, so that it comes without a change of thread.

One thread leads: it receives, and hands out what is for others. When it has what it waits for, it
passes the lead to somebody who still waits. A helper thread leads for coroutines, which cannot.
"""

import queue
import select
import threading
from collections import deque
from typing import Any, Callable

from .channel import Channel, Closed

Message = "dict[str, Any]"
Box = queue.SimpleQueue
_LEAD = object()


class Reading:
    """``deliver`` puts a message into the box of whoever waits for it; ``lost`` runs once."""

    def __init__(
        self,
        channel: Channel,
        deliver: Callable[["dict[str, Any]"], None],
        lost: Callable[[], None],
    ) -> None:
        self._channel = channel
        self._deliver = deliver
        self._lost = lost
        self._mutex = threading.Lock()
        self._led = False
        self._closed = False
        self._followers: deque[Box[Any]] = deque()
        self._helper: Box[Any] = Box()
        self._helped = 0  # how many answers coroutines wait for

    def start(self) -> None:
        threading.Thread(target=self._help, name="shoal-receiver", daemon=True).start()

    def wait(self, box: "Box[Any]") -> Any:
        """The next message of ``box``; None when the other side is gone."""
        with self._mutex:
            leads = not self._led
            self._led = True
            if not leads:
                self._followers.append(box)
        if not leads:
            found = box.get()
            if found is not _LEAD:
                self._leave(box)
                return found
        try:
            while box.empty() and not self._closed:
                self._receive()
        finally:
            self._pass_on()
        return None if self._closed and box.empty() else box.get()

    def help_begins(self) -> None:
        """A coroutine waits: somebody must read."""
        with self._mutex:
            self._helped += 1
            if not self._led:
                self._led = True
                self._helper.put(_LEAD)
            elif self._helped == 1:
                self._followers.append(self._helper)

    def help_ends(self) -> None:
        with self._mutex:
            self._helped -= 1

    def _leave(self, box: "Box[Any]") -> None:
        """Its message came by another leader; if the lead came too, it goes on to the next."""
        with self._mutex:
            if box in self._followers:
                self._followers.remove(box)
                return
        # Messages that came before the lead stay, in their order: nobody else reads meanwhile.
        before = list(iter(box.get, _LEAD))
        for message in before:
            box.put(message)
        self._pass_on()

    def _pass_on(self) -> None:
        with self._mutex:
            while self._followers:
                follower = self._followers.popleft()
                if follower is not self._helper or self._helped:
                    follower.put(_LEAD)
                    return
            if self._helped:
                self._helper.put(_LEAD)
            else:
                self._led = False

    def _receive(self) -> None:
        try:
            message = self._channel.receive()
        except Closed:
            if not self._closed:
                self._closed = True
                self._lost()
            return
        self._deliver(message)

    def _help(self) -> None:
        while True:
            self._helper.get()
            while self._helped > 0 and not self._closed:
                self._receive()
            self._pass_on()
            if self._closed:
                return


def when_gone(channel: Channel, act: Callable[[], None]) -> None:
    """Call ``act`` in a thread when the other side has gone, though nobody reads."""
    poller = select.poll()
    poller.register(channel.fileno(), 0)  # only the end is told, not what comes in

    def watch() -> None:
        poller.poll()
        act()

    threading.Thread(target=watch, name="shoal-watch", daemon=True).start()
