"""Guessing credentials, and locking everybody else out."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil

from tests.security.ground import Ground
from tests.security.tries import Try, held, refused

PART = "credentials"
GUESSES = 40
MOST_HEARD = 10  # of one name, before the waits begin to grow
MOST_GROWTH_BYTES = 300 << 20  # of the web process, by hashes that are asked for at once
PATIENCE_S = 5.0
ELSEWHERE = "127.0.0.77"


def tries(ground: Ground) -> Iterator[Try]:
    yield from _guesses(ground)
    yield from _frozen(ground)
    yield from _people(ground)
    url = f"{ground.product.url}/api/v1/openapi.json"
    first = httpx.get(url, timeout=30)
    again = httpx.get(url, headers={"If-None-Match": first.headers.get("ETag", "")}, timeout=30)
    answer = f"{again.status_code}, ETag {first.headers.get('ETag')}"
    yield refused(PART, "openapi.json is made anew", no=again.status_code == 304, answer=answer)


def _guesses(ground: Ground) -> Iterator[Try]:
    """Forty passwords of one person at once, each as if from another address."""
    web = _web(ground)
    before = web.memory_info().rss
    with ThreadPoolExecutor(GUESSES) as pool:
        statuses = Counter(pool.map(lambda number: _guess(ground, number), range(GUESSES)))
    grown = web.memory_info().rss - before
    heard = statuses[401]
    answer = f"{heard} of {GUESSES} heard: {dict(statuses)}"
    yield refused(PART, "guess under forged addresses", no=heard <= MOST_HEARD, answer=answer)
    yield held(
        PART,
        f"{GUESSES} hashes at once",
        [f"the web process grew by {grown >> 20} MiB"] if grown > MOST_GROWTH_BYTES else [],
    )
    with ground.client() as client:
        session = client.get("/session").status_code
    yield held(PART, "the studio answers meanwhile", [session] if session != 200 else [])


def _guess(ground: Ground, number: int) -> int:
    headers = {"X-Forwarded-For": f"203.0.113.{number}", "X-Real-IP": f"203.0.113.{number}"}
    words = {"username": "admin", "password": f"guess number {number}"}
    with ground.client() as client:
        return client.post("/session", json=words, headers=headers).status_code


def _frozen(ground: Ground) -> Iterator[Try]:
    """Texts that once stopped the whole process, from somebody who may deploy."""
    texts = {
        "unclosed quotes": '\\"' * 30_000,
        "escapes": '"' + "\\" * 60_000,
        "depth": "{" * 60_000,
    }
    for name, text in texts.items():
        body = {"model": ground.plain_model, "configs": {"plain": text}}
        with ThreadPoolExecutor(1) as pool, ground.as_role("deployer") as client:
            asked = pool.submit(client.post, "/try-loads", json=body)
            slowest = 0.0
            while not asked.done():
                began = time.monotonic()
                httpx.get(f"{ground.product.url}/healthz", timeout=120)
                slowest = max(slowest, time.monotonic() - began)
            status = asked.result().status_code
        wrong = [f"/healthz waited {slowest:.1f} s"] if slowest > PATIENCE_S else []
        wrong += [f"answered {status}"] if not 400 <= status < 500 else []
        yield held(PART, f"freeze the studio by {name}", wrong)


def _people(ground: Ground) -> Iterator[Try]:
    """Who signed in, and from where, is not for everybody."""
    words = {"username": "s-from-elsewhere", "password": "guessed"}
    # why from there: 127.0.0.1 is also what gateways' certificates name
    elsewhere = httpx.HTTPTransport(local_address=ELSEWHERE)
    with httpx.Client(transport=elsewhere) as stranger:
        stranger.post(f"{ground.product.url}/api/v1/session", json=words)
    with ground.as_role("viewer") as client:
        events = client.get("/events", params={"limit": 100}).json()["items"]
    told = [event["verb"] for event in events if event["subject"].startswith(("user/", "account"))]
    told += [event["verb"] for event in events if ELSEWHERE in json.dumps(event)]
    log = ground.admin.get("/events", params={"limit": 100}).text
    wrong = [] if ELSEWHERE in log else ["administrators are not told either"]
    yield held(PART, "a viewer reads who signed in from where", [*wrong, *sorted(set(told))])


def _web(ground: Ground) -> psutil.Process:
    assert ground.product.process is not None
    children = psutil.Process(ground.product.process.pid).children(recursive=True)
    return next(
        process for process in children if "controlplane.config.web_server" in process.cmdline()
    )
