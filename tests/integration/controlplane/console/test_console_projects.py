"""Sockets of somebody with a role in one project: what they follow, and what they do not."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from socket_harness import Browser

from controlplane.accounts.models import Membership, User
from controlplane.accounts.scope import scope_now
from controlplane.console import watch
from controlplane.core import events
from tests.support.people import make_user
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


@database_sync_to_async
def tell(*subjects: str) -> list[int]:
    return [
        events.record(actor="ada", verb="told", subject=subject, message="something").seq
        for subject in subjects
    ]


async def test_events_are_told_of_the_own_project_alone(transactional_db: None) -> None:
    """What was missed and what comes, beside somebody who is told of everything."""
    subjects = f"endpoint/{THEIRS}-endpoint", f"endpoint/{OURS}-endpoint", "node/n1", "user/ada"
    person = await mia()
    vera = await database_sync_to_async(make_user)("vera", User.Role.VIEWER)
    first, own, *_ = await tell(*subjects)
    browser = await Browser.open("/ws/v1", person)
    everything = await Browser.open("/ws/v1", vera)
    for each, missed in ((browser, [own]), (everything, [own, own + 1])):
        await each.say({"op": "sub", "topic": "events", "after_seq": first})
        assert [(await each.hear())["data"]["seq"] for _ in missed] == missed
        assert (await each.hear())["complete"] is True
    theirs, own, node, _ = await tell(*subjects)
    assert [(await everything.hear())["data"]["seq"] for _ in range(3)] == [theirs, own, node]
    assert (await browser.hear())["data"]["subject"] == subjects[1]
    (own,) = await tell(f"model/{OURS}-model")
    assert (await browser.hear())["data"]["seq"] == own
    assert scope_now() is None
    for each in (browser, everything):
        await each.leave()


@pytest.mark.parametrize("to", [THEIRS, ""])
async def test_who_is_in_another_project_now_comes_back_for_its_events(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    monkeypatch.setattr(watch.Watch.__init__, "__defaults__", (0.05, watch._nothing))
    person = await mia()
    browser = await Browser.open("/ws/v1", person)
    position = await browser.ask({"op": "sub", "topic": "events"})
    if to:
        await Membership.objects.filter(user=person).aupdate(project_id=to)
    else:  # a role in the installation, and with it all projects
        await User.objects.filter(pk=person.pk).aupdate(role=User.Role.VIEWER)
    assert await browser.closed_with() == FORBIDDEN
    await browser.leave()
    _, theirs = await tell(f"endpoint/{OURS}-endpoint", f"endpoint/{THEIRS}-endpoint")
    browser = await Browser.open("/ws/v1", person)
    await browser.say({"op": "sub", "topic": "events", "after_seq": position["seq"]})
    told = [(await browser.hear())["data"]["seq"] for _ in range(1 if to else 2)]
    assert told[-1] == theirs
    assert (await browser.hear())["type"] == "position"
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
