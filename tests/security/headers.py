"""What every answer of the studio says to browsers, and what strangers are told."""

from collections.abc import Iterator

import httpx

from tests.security.ground import Ground
from tests.security.tries import Try, held, refused

PART = "headers"
PAGES = ("/", "/models", "/api/v1/session", "/api/v1/openapi.json", "/nothing-here")


def tries(ground: Ground) -> Iterator[Try]:
    for path in PAGES:
        answer = httpx.get(f"{ground.product.url}{path}", timeout=30)
        yield held(PART, f"GET {path}", _missing(path, answer))
    foreign = httpx.get(f"{ground.product.url}/", headers={"Host": "evil.example"}, timeout=30)
    yield refused(PART, "a foreign Host", no=foreign.status_code == 400, answer=foreign.text[:200])
    by_page = httpx.post(
        f"{ground.product.url}/api/v1/session",
        data={"username": "admin", "password": "x"},
        headers={"Origin": "https://evil.example"},
        timeout=30,
    )
    no = by_page.status_code in (400, 403, 415)
    yield refused(PART, "a page of another site signs in", no=no, answer=str(by_page.status_code))


def _missing(path: str, answer: httpx.Response) -> Iterator[str]:
    wanted = {
        "content-security-policy": "script-src 'self'",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
    }
    for name, words in wanted.items():
        if words not in answer.headers.get(name, ""):
            yield f"{name} is {answer.headers.get(name)!r}, expected {words!r} in it"
    if "server" in answer.headers:
        yield f"names its server: {answer.headers['server']}"
    private = path.startswith("/api/v1") and not path.endswith("openapi.json")
    if private and "no-store" not in answer.headers.get("cache-control", ""):
        yield "may be cached"
