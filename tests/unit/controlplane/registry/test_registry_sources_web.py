"""What fetches models reaches nobody else, and ends, whatever a server does."""

import gzip
import ipaddress
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controlplane.core import addresses
from controlplane.core.addresses import Allowed, NameUnknown
from controlplane.registry.errors import IngestFailed
from controlplane.registry.sources.web import Bounds, Web, origin_of, shown
from tests.support.file_server import FileServer, file_server, headed, redirect

LOOPBACK = Allowed("SHOAL_IMPORT_NETWORKS", ("127.0.0.0/8",))
NOWHERE = Allowed("SHOAL_IMPORT_NETWORKS", ())


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server() as found:
        yield found


def web_of(allowed: Allowed = LOOPBACK, seconds: float = 20.0, **more: Any) -> Web:
    return Web(Bounds(allowed, time.monotonic() + seconds, **more))


def fetched(web: Web, url: str, headers: dict[str, str] | None = None) -> bytes:
    with web.get(url, headers) as answer:
        return b"".join(answer.pieces())


def refused(web: Web, url: str, code: str) -> str:
    with pytest.raises(IngestFailed) as caught:
        fetched(web, url)
    assert caught.value.code == code, caught.value.message
    return caught.value.message


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A resolver: what each name is, one answer for each time that somebody asks."""
    known: dict[str, list[str]] = {}
    plain = addresses._addresses

    def look_up(host: str, port: int) -> Any:
        if host not in known:
            return plain(host, port)
        if not known[host]:
            raise NameUnknown(f"{host} is not known")
        found = known[host].pop(0) if len(known[host]) > 1 else known[host][0]
        return [ipaddress.ip_address(one) for one in found.split()]

    monkeypatch.setattr(addresses, "_addresses", look_up)
    return known


def test_a_file_comes_as_it_is(server: FileServer) -> None:
    server.routes["/m.onnx"] = b"model" * 100_000
    assert fetched(web_of(), f"{server.url}/m.onnx?token=x") == b"model" * 100_000
    ((path, headers),) = server.asked
    assert path == "/m.onnx?token=x"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["Host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    "to",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fd00:ec2::254]/",
        "http://2852039166/",  # 169.254.169.254
        "http://0xa.1/",  # 10.0.0.1
        "http://10.0.0.1/",
        "http://metadata.test/",
        "http://two.test/",
        "http://1.1.1.1/",  # public, but plain
        "file:///etc/passwd",
        "gopher://127.0.0.1/x",
        "http://user:secret@127.0.0.1/",
        "http://bücher.test/",
        "http://[::1/",
        "http://127.0.0.1:99999/",
        "https://exämple.test/",
    ],
)
def test_each_redirect_is_judged(server: FileServer, names: dict[str, list[str]], to: str) -> None:
    names["metadata.test"] = ["169.254.169.254"]
    names["two.test"] = ["127.0.0.1 10.1.1.1"]  # one of them would do
    allowed = Allowed("SHOAL_IMPORT_NETWORKS", ("127.0.0.1/32",))
    server.routes["/m.onnx"] = redirect(to.encode().decode("latin-1"))
    message = refused(web_of(allowed), f"{server.url}/m.onnx", "ImportAddressRefused")
    assert "secret" not in message


def test_a_name_that_changes_is_judged_whenever_it_is_called(
    server: FileServer, names: dict[str, list[str]]
) -> None:
    names["rebind.test"] = ["127.0.0.1", "169.254.169.254"]
    names["other.test"] = ["127.0.0.1"]
    there = f"http://rebind.test:{server.port}/m.onnx"
    server.routes["/m.onnx"] = b"one"
    web = web_of()
    # looked up once: the connection leads to what was judged, and so does the next request on it
    assert fetched(web, there) == fetched(web, there) == b"one"
    assert server.asked[0][1]["Host"] == f"rebind.test:{server.port}"
    refused(web_of(), there, "ImportAddressRefused")
    server.routes["/far"] = redirect(there)
    refused(web_of(), f"http://other.test:{server.port}/far", "ImportAddressRefused")


def test_credentials_stay_with_the_origin_that_they_are_for(
    server: FileServer, names: dict[str, list[str]]
) -> None:
    names["cdn.test"] = ["127.0.0.1"]
    server.routes["/same"] = redirect("/cdn")
    server.routes["/cdn"] = redirect(f"http://cdn.test:{server.port}/back")
    server.routes["/back"] = redirect(f"{server.url}/m")
    server.routes["/m"] = b"x"
    fetched(web_of(), f"{server.url}/same", {"Authorization": "Bearer secret"})
    told = [(path, headers.get("Authorization")) for path, headers in server.asked]
    assert told[:3] == [("/same", "Bearer secret"), ("/cdn", "Bearer secret"), ("/back", None)]


def test_redirects_have_an_end(server: FileServer) -> None:
    server.routes["/m"] = redirect("/m")
    refused(web_of(), f"{server.url}/m", "ImportRedirects")
    assert len(server.asked) == 6


def test_an_administrator_s_own_server_is_called_wherever_it_is(server: FileServer) -> None:
    server.routes["/m"] = b"x"
    assert fetched(web_of(NOWHERE, own=origin_of(server.url)), f"{server.url}/m") == b"x"
    refused(web_of(NOWHERE), f"{server.url}/m", "ImportAddressRefused")
    server.routes["/away"] = redirect("http://127.0.0.2:1/")
    refused(
        web_of(NOWHERE, own=origin_of(server.url)), f"{server.url}/away", "ImportAddressRefused"
    )


@pytest.mark.parametrize(
    ("answering", "code"),
    [
        (headed({"Content-Encoding": "gzip"}, gzip.compress(bytes(2**20))), "ImportFailed"),
        (headed({"Content-Length": "1000"}, b"half"), "ImportUnreachable"),
        (headed({"Transfer-Encoding": "chunked"}, b"5\r\nhalf"), "ImportUnreachable"),
        (headed({"Content-Length": "0"}, status=403), "ImportDenied"),
        (headed({"Content-Length": "0"}, status=500), "ImportFailed"),
        (headed({"Content-Length": "0"}, status=302), "ImportFailed"),  # to nowhere
    ],
)
def test_what_is_no_file_is_told(server: FileServer, answering: Any, code: str) -> None:
    server.routes["/m"] = answering
    assert "secret" not in refused(web_of(), f"{server.url}/m?token=secret", code)


class Clock:
    """Seconds pass with each look at it."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def dripping(over: Callable[[], bool], piece: bytes) -> Any:
    def answering(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "x")
        handler.end_headers()
        try:
            while not over():
                handler.wfile.write(piece)
        except OSError:  # who asked has gone
            handler.close_connection = True

    return answering


def test_a_body_that_drips_is_given_up(server: FileServer) -> None:
    server.routes["/m"] = lambda handler: (
        headed({"X": "y"}, b"byte")(handler),
        handler.wfile.flush(),
        server.over.wait(5),
    )
    web = Web(Bounds(LOOPBACK, 10_000.0), clock=Clock(40.0))
    assert "sent 4 bytes" in refused(web, f"{server.url}/m", "ImportTooSlow")


def test_the_whole_has_an_end_also_before_the_body(server: FileServer) -> None:
    def heads(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        try:
            while not server.over.is_set():
                handler.wfile.write(b"X: y\r\n")
        except OSError:
            handler.close_connection = True

    server.routes["/m"] = heads
    web = Web(Bounds(LOOPBACK, 100.0), clock=Clock(10.0))
    refused(web, f"{server.url}/m", "ImportTimeout")


def test_lists_are_bounded_and_json(server: FileServer) -> None:
    server.routes["/endless"] = dripping(server.over.is_set, b"x" * 2**16)
    with pytest.raises(IngestFailed) as caught:
        web_of().json(f"{server.url}/endless")
    assert caught.value.code == "ImportTooLarge"
    for body in (b"<html>", b"[1]", b"[" * 100_000, b"\xff"):
        server.routes["/list"] = body
        with pytest.raises(IngestFailed):
            web_of().json(f"{server.url}/list")


def test_every_read_is_a_sign_of_life(server: FileServer) -> None:
    class Over(Exception):
        pass

    def tick() -> None:
        ticks.append(1)
        if len(ticks) > 5:
            raise Over

    ticks: list[int] = []
    server.routes["/endless"] = dripping(server.over.is_set, b"x" * 2**16)
    web = Web(Bounds(LOOPBACK, time.monotonic() + 20), tick)
    with pytest.raises(Over):
        fetched(web, f"{server.url}/endless")


def test_what_is_shown_has_no_secret() -> None:
    assert shown("https://a:b@host:9/x/y?token=1#2") == "https://host:9/x/y"
    assert origin_of("HTTPS://Host/x") == "https://host:443"


def test_a_proxy_is_asked_by_name_after_what_is_known_was_judged(
    server: FileServer, names: dict[str, list[str]]
) -> None:
    names["files.test"], names["inside.test"] = ["127.0.0.5"], ["10.0.0.1"]
    names["unknown.test"] = []
    server.routes["http://files.test/m"] = b"by the proxy"
    proxy = server.url.replace("http://", "http://me:secret@")
    allowed = Allowed("SHOAL_IMPORT_NETWORKS", ("127.0.0.5/32",))
    assert fetched(web_of(allowed, proxy=proxy), "http://files.test/m") == b"by the proxy"
    ((_, headers),) = server.asked
    assert headers["Proxy-Authorization"].startswith("Basic ")
    for url in ("https://inside.test/", "http://169.254.169.254/", "http://unknown.test/"):
        refused(web_of(allowed, proxy=proxy), url, "ImportAddressRefused")
    # a name that this machine does not know goes to the proxy, over TLS alone
    refused(web_of(allowed, proxy=proxy), "https://unknown.test/", "ImportUnreachable")
    # this proxy makes no tunnels: what it answers is told, without its password
    names["public.test"] = ["1.1.1.1"]
    told = refused(web_of(NOWHERE, proxy=proxy), "https://public.test/m", "ImportUnreachable")
    assert "501" in told
    assert "secret" not in told
    assert len(server.asked) == 1
