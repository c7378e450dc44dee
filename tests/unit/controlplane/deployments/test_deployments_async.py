"""Responses in pieces, or when something ends: blobs for nodes, operations waited for."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.accounts.services import token_create
from controlplane.deployments.services import Spec
from controlplane.operations import services
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms


@pytest.fixture
async def thread_connections() -> AsyncIterator[None]:
    """Views run in another thread here; what it opened must not outlive the test database."""
    yield
    await sync_to_async(connections.close_all)()


async def body_of(answer: Any) -> bytes:
    return b"".join([piece async for piece in answer.streaming_content])


@pytest.mark.usefixtures("thread_connections")
@pytest.mark.django_db(databases=["default", "metrics"], transaction=True)
async def test_a_node_fetches_its_blobs_in_parts_and_no_others() -> None:
    def prepare() -> tuple[SimulatedNode, SimulatedNode]:
        first = SimulatedNode("first")
        model_register(content=b"0123456789")
        spec = Spec(model="digits", traffic=100)
        services.deploy(spec=spec, endpoint="", deployment="", actor="ada", now=timezone.now())
        return first, SimulatedNode("second")

    holder, stranger = await sync_to_async(prepare)()
    sha256 = hashlib.sha256(b"0123456789").hexdigest()
    url = f"/agent/v1/blobs/{sha256}"
    client = AsyncClient()
    mine = {"Authorization": f"Bearer {holder.identity.credential}"}
    whole = await client.get(url, headers=mine)
    assert (whole.status_code, await body_of(whole)) == (200, b"0123456789")
    assert whole["ETag"] == f'"{sha256}"'
    assert "immutable" in whole["Cache-Control"]
    assert "private" in whole["Cache-Control"]
    for seen, status in ((whole["ETag"], 304), ("*", 304), (f'"{"0" * 64}"', 200)):
        again = await client.get(url, headers={**mine, "If-None-Match": seen})
        assert (again.status_code, again["ETag"]) == (status, whole["ETag"])
    part = await client.get(url, headers={**mine, "Range": "bytes=4-"})
    assert (part.status_code, part["Content-Range"]) == (206, "bytes 4-9/10")
    assert await body_of(part) == b"456789"
    beyond = await client.get(url, headers={**mine, "Range": "bytes=10-"})
    assert (beyond.status_code, beyond["Content-Range"]) == (416, "bytes */10")
    assert beyond["Content-Type"] == "application/problem+json"
    told = beyond.json()
    assert (told["code"], told["field"], told["size"]) == ("RangeUnsatisfiable", "Range", 10)
    assert told["hints"]
    assert "bytes=10-" in told["detail"]
    theirs = {"Authorization": f"Bearer {stranger.identity.credential}"}
    for headers in (theirs, {**theirs, "If-None-Match": whole["ETag"]}):
        assert (await client.get(url, headers=headers)).status_code == 404
    assert (await client.get(url)).status_code == 401


@pytest.mark.usefixtures("thread_connections")
@pytest.mark.django_db(databases=["default", "metrics"], transaction=True)
async def test_waiting_for_an_operation_answers_when_it_ends() -> None:
    def prepare() -> tuple[str, str, SimulatedNode]:
        user = User.objects.create_user(username="dora", password="x", role="deployer")
        _, token = token_create(user=user, name="t", actor="dora")
        worker = SimulatedNode()
        model_register()
        spec = Spec(model="digits", traffic=100)
        started = services.deploy(
            spec=spec, endpoint="", deployment="", actor="dora", now=timezone.now()
        )
        return token, started.pk, worker

    def finish(worker: SimulatedNode) -> None:
        worker.bring_up()
        gateway_confirms()

    token, operation_id, worker = await sync_to_async(prepare)()
    client = AsyncClient()
    headers = {"Authorization": f"Bearer {token}"}
    url = f"/api/v1/operations/{operation_id}"
    now = await client.get(url, headers=headers)
    assert now.json()["state"] == "Running"
    short = await client.get(f"{url}?wait=0.3", headers=headers)
    assert short.json()["state"] == "Running"
    waiting = asyncio.create_task(client.get(f"{url}?wait=30", headers=headers))
    await sync_to_async(finish)(worker)
    async with asyncio.timeout(20):
        assert (await waiting).json()["state"] == "Succeeded"
    assert (await client.get(f"{url}?wait=5")).status_code == 401
