"""Sockets of somebody with a role in one project: what they follow, and what they do not."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from socket_harness import Browser

from controlplane.accounts.models import Membership, User
from controlplane.accounts.scope import scope_now
from controlplane.console import watch
from tests.support.project_world import OURS, THEIRS, member, project_add

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])

NOT_FOUND, FORBIDDEN = 4404, 4403


@database_sync_to_async
def mia(role: str = Membership.Role.VIEWER) -> User:
    for name in (OURS, THEIRS):
        project_add(name)
    return member(OURS, role)


async def test_only_topics_of_the_own_project_are_followed(transactional_db: None) -> None:
    browser = await Browser.open("/ws/v1", await mia())
    for topic in (f"endpoint:{OURS}-endpoint", f"operation:{OURS}-operation"):
        await browser.say({"op": "sub", "topic": topic})
        assert (await browser.hear_type("state"))["topic"] == topic
    refused = {
        f"endpoint:{THEIRS}-endpoint": "EndpointNotFound",
        f"pipeline:{THEIRS}-endpoint/blue": "EndpointNotFound",
        f"pipeline:{OURS}-endpoint": "DeploymentNotFound",
        "endpoint:nobody": "EndpointNotFound",
        f"operation:{THEIRS}-operation": "OperationNotFound",
        "events": "Forbidden",
        "overview": "Forbidden",
    }
    for topic, code in refused.items():
        await browser.say({"op": "sub", "topic": topic})
        error = await browser.hear_type("error")
        assert (error["topic"], error["code"]) == (topic, code)
    assert scope_now() is None
    await browser.leave()


async def test_who_lost_the_role_is_told_no_more(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a role in another project the socket stays, and the topic ends."""
    monkeypatch.setattr(watch.Watch.__init__, "__defaults__", (0.05, watch._nothing))
    person = await mia()
    browser = await Browser.open("/ws/v1", person)
    await browser.say({"op": "sub", "topic": f"endpoint:{OURS}-endpoint"})
    await browser.hear_type("snapshot")
    await Membership.objects.filter(user=person).aupdate(project_id=THEIRS)
    error = await browser.hear_type("error")
    assert (error["code"], error["topic"]) == ("EndpointNotFound", f"endpoint:{OURS}-endpoint")
    await Membership.objects.filter(user=person).adelete()
    async with asyncio.timeout(10):
        while (message := await browser.receive_output(10))["type"] != "websocket.close":
            pass
    assert message["code"] == FORBIDDEN
    await browser.leave()


async def test_the_console_opens_for_the_own_project_and_calls_by_its_role(
    transactional_db: None,
) -> None:
    person = await mia()
    stranger = Browser(f"/ws/v1/console/{THEIRS}-endpoint", person)
    await stranger.send_input({"type": "websocket.connect"})
    assert (await stranger.receive_output(10))["type"] == "websocket.accept"
    assert await stranger.closed_with() == NOT_FOUND
    for role, may_infer in (("viewer", False), ("invoker", True)):
        await Membership.objects.filter(user=person).aupdate(role=role)
        browser = await Browser.open(f"/ws/v1/console/{OURS}-endpoint", person)
        answer = await browser.ask({"op": "metadata"})
        assert answer["may_infer"] is may_infer
        await browser.leave()
