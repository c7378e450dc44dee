"""What a node that lies may send: through the codec, what is believed of it, and the real REST API.

A control plane with a database of its own stands behind it; each input finds it as it was
before. The settings are those of the tests.
"""

import dataclasses
import logging
import os
import time
from datetime import timedelta
from functools import cache
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings_test")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.handlers.base import BaseHandler  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import RequestFactory  # noqa: E402
from django.test.utils import setup_databases, setup_test_environment  # noqa: E402
from django.utils import timezone  # noqa: E402

from controlplane.core.models import Event  # noqa: E402
from controlplane.deployments.selectors import routing_view  # noqa: E402
from controlplane.metrics.models import LogLine, NodeSample, ReplicaSample  # noqa: E402
from controlplane.nodes import claims  # noqa: E402
from controlplane.nodes.models import Node  # noqa: E402
from controlplane.nodes.selectors import machine_boot_id  # noqa: E402
from controlplane.nodes.services import join_token_create  # noqa: E402
from tests.fuzz.agent_seeds import AWAY, HONEST, LIAR, RESOURCES, TOKEN  # noqa: E402
from tests.fuzz.finding import Finding  # noqa: E402
from tests.support.placed_replicas import replica_place  # noqa: E402
from tests.support.simulated_node import SimulatedNode  # noqa: E402
from wire import codec  # noqa: E402
from wire.addresses import host_address, is_loopback  # noqa: E402

DATABASES = ("default", "metrics")
LONGEST_S = 5.0
# What a message may grow to when it is kept: names of fields that it left out, marks for control
# characters. Of one that is refused, how much is said.
GROWTH, GROWTH_BYTES = 8, 4000
MOST_SAID = 1000
MOST_EVENTS = claims.MOST_TOLD + 25  # of one report: spoiled files, joining, replicas
TEXT_FIELDS = frozenset(claims.TEXTS)


class Undone(Exception):
    """Takes back what a message wrote."""


class Plane:
    """Nodes ``liar``, with the replicas good and bad, and ``honest``, on machines of their own."""

    def __init__(self) -> None:
        logging.disable(logging.WARNING)  # of each refusal
        setup_test_environment()
        setup_databases(verbosity=0, interactive=False, aliases=dict.fromkeys(DATABASES, False))
        settings.DEBUG_PROPAGATE_EXCEPTIONS = True  # else an answer of 500 says nothing
        # why not the client of tests: it remembers something of every call
        self.web = BaseHandler()
        self.web.load_middleware()
        self.token = join_token_create(actor="ada")
        self.liar = self._node(LIAR, AWAY)
        self._node("honest", HONEST)
        # it is not to fall silent meanwhile: then its address would be free
        Node.objects.update(last_seen_at=timezone.now() + timedelta(days=1))
        for key in ("good", "bad"):
            replica_place(self.liar.row(), key, deployment=key)
        self.honest = self._honest()

    def _node(self, name: str, address: str) -> SimulatedNode:
        node = SimulatedNode(name, address=address)
        node.info = dataclasses.replace(node.info, boot_id=name)
        node.report()
        return node

    def take(self, resource: str, body: bytes) -> None:
        """Post it, look at what is kept, and forget it."""
        request = RequestFactory().post(
            f"/agent/v1/{resource}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.liar.identity.credential}"},
        )
        try:
            with transaction.atomic(), transaction.atomic(using="metrics"):
                before = Event.objects.count()
                answer = self.web.get_response(request)
                if answer.status_code >= 500:
                    raise Finding(
                        f"{resource} answers {answer.status_code}: {answer.content[:500]!r}"
                    )
                self._kept(before)
                if resource != "register" and self._honest() != self.honest:
                    raise Finding(f"another node became {self._honest()!r}")
                raise Undone
        except Undone:
            return

    def _kept(self, before: int) -> None:
        info = self.liar.row().info
        here = info["boot_id"] == machine_boot_id()
        for endpoint in routing_view().endpoints:
            for deployment in endpoint.deployments:
                for replica in deployment.replicas:
                    own = replica.address == host_address(info["address"])
                    foreign = replica.address == HONEST or (
                        is_loopback(replica.address) and not here
                    )
                    if not own or foreign or not 0 < replica.http_port <= 65_535:
                        raise Finding(f"requests would go to {replica!r}")
        events = list(Event.objects.order_by("-pk")[: Event.objects.count() - before])
        if len(events) > MOST_EVENTS:
            raise Finding(f"{len(events)} events of one message")
        for event in events:
            if not event.message.isprintable() or len(event.message) > MOST_SAID:
                raise Finding(f"an event says {event.message[:300]!r}")
        for row in (*NodeSample.objects.all(), *ReplicaSample.objects.all()):
            _printable(row.data, "a sample")
        for line in LogLine.objects.all():
            _printable(line.text, "text")
        for node in Node.objects.all():
            _printable(node.info, "info")

    def _honest(self) -> dict[str, Any]:
        return Node.objects.values().get(name="honest")


@cache
def plane() -> Plane:
    return Plane()


def agent_messages(data: bytes) -> None:
    """One byte for the resource, then a message. What is kept is short, printable and its own."""
    if not data:
        return
    resource, kind = RESOURCES[data[0] % len(RESOURCES)]
    home = plane()
    body = data[1:].replace(TOKEN, home.token.encode())
    began = time.process_time()
    try:
        message = codec.decode(kind, body)
    except codec.WireError as error:
        if len(str(error)) > MOST_SAID + len(body):
            raise Finding(f"a refusal of {len(str(error))} characters") from error
        return
    kept, violations = claims.tidied(message)
    _printable(dataclasses.asdict(kept), "")
    for violation in violations:
        if len(str(violation)) > MOST_SAID or not str(violation).isprintable():
            raise Finding(f"a violation says {str(violation)[:300]!r}")
    written = codec.encode(kept)
    if len(written) > GROWTH * len(body) + GROWTH_BYTES:
        raise Finding(f"{len(body)} bytes become {len(written)}")
    if codec.decode(kind, written) != kept:
        raise Finding(f"not the same after the wire: {kept!r}")
    again, more = claims.tidied(kept)
    if again != kept or more:
        raise Finding(f"not tidy yet: {more!r}")
    home.take(resource, body)
    if time.process_time() - began > LONGEST_S:
        raise Finding(
            f"{time.process_time() - began:.1f} s of processor time for {len(body)} bytes"
        )


def _printable(value: Any, field: str) -> None:
    """No control characters and nothing endless, anywhere in what is kept."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _printable(name, "")
            _printable(inner, field if field in TEXT_FIELDS else name)
    elif isinstance(value, list | tuple):
        for inner in value:
            _printable(inner, field)
    elif isinstance(value, str):
        allowed = "\n\t" if field in TEXT_FIELDS else ""
        marred = [char for char in value if _controls(char) and char not in allowed]
        if marred or len(value) > claims.TEXTS.get(field, MOST_SAID):
            raise Finding(f"{field} is kept as {value[:300]!r}, {len(value)} characters")
    elif isinstance(value, float) and not abs(value) <= codec.LARGEST:
        raise Finding(f"{field} is kept as {value!r}")


def _controls(char: str) -> bool:
    return char < " " or "\x7f" <= char < "\xa0" or "\ud800" <= char <= "\udfff"
