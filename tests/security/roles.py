"""Every route with every role, over the network."""

import re
from collections.abc import Iterator

import httpx

from tests.security.ground import ROLES, Ground
from tests.security.tries import Try, held
from tests.support.role_matrix import MATRIX, MAY, OPEN

PART = "roles"


def tries(ground: Ground) -> Iterator[Try]:
    calls = [
        (method, route, permission)
        for route, row in MATRIX.items()
        for method, permission in row.items()
        if permission != OPEN
    ]
    with ground.client() as stranger:
        let_in = [
            f"{method} {route}: {status}"
            for method, route, _ in calls
            if (status := _call(stranger, method, route)) != 401
        ]
    yield held(PART, f"a stranger asks {len(calls)} things", let_in)
    for role in ROLES:
        with ground.as_role(role) as client:
            yield held(PART, f"{role} asks {len(calls)} things", _wrong(client, calls, MAY[role]))


def _wrong(
    client: httpx.Client, calls: list[tuple[str, str, str]], granted: set[str]
) -> Iterator[str]:
    """Nothing of that name exists and the body is empty: no call gets far enough to change much."""
    for method, route, permission in calls:
        status = _call(client, method, route)
        if (status == 403) == (permission in granted) or status == 401 or status >= 500:
            yield f"{method} {route} needs {permission}: {status}"


def _call(client: httpx.Client, method: str, route: str) -> int:
    path = re.sub(r"<int:[^>]*>", "9999", route)
    path = re.sub(r"<[^>]*>", "nothing", path)
    return client.request(method, f"/{path}", json={}).status_code
