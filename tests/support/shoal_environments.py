"""What the fake installation says of environments: versions by their packages, as the real one."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx

CONTENT = ("requirements", "conda_file", "image", "declared")


class FakeEnvironments:
    def __init__(self) -> None:
        self.kept: dict[str, list[dict[str, Any]]] = {}

    def routes(self, page: Callable[..., httpx.Response]) -> Iterator[tuple[str, Any]]:
        one = r"/environments/([\w-]+)"
        yield r"POST /environments", self._register
        yield (
            r"GET /environments",
            lambda request: page(request, [rows[-1] for rows in self._seen(request).values()]),
        )
        yield (
            rf"GET {one}/versions",
            lambda request, name: page(request, self._seen(request)[name][::-1]),
        )
        yield rf"GET {one}/versions/(\w+)", self._get
        yield rf"POST {one}/(archive|restore)", self._archive
        yield (
            rf"POST {one}/versions/(\w+)/(archive|restore)",
            lambda request, name, which, verb: self._archive(request, name, verb, which),
        )

    def _seen(self, request: httpx.Request) -> dict[str, list[dict[str, Any]]]:
        wanted = {"active": (False,), "archived": (True,), "all": (False, True)}
        which = wanted[request.url.params["archived"]]
        found = {n: [r for r in rows if r["archived"] in which] for n, rows in self.kept.items()}
        return {name: rows for name, rows in found.items() if rows}

    def _register(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        rows = self.kept.setdefault(body["name"], [])
        for row in rows:
            if all(row[key] == body[key] for key in CONTENT):
                return httpx.Response(200, json=row)
        given = body.pop("version")
        row = {
            **body,
            "version": given or len(rows) + 1,
            "digest": "d",
            "archived": False,
            "created_by": "dora",
            "created_at": "2026-01-01T00:00:00Z",
            "used_by": [],
        }
        rows.append(row)
        return httpx.Response(201, json=row)

    def _find(self, name: str, which: str) -> list[dict[str, Any]]:
        rows = self.kept.get(name, [])
        return rows[-1:] if which == "latest" else [r for r in rows if str(r["version"]) == which]

    def _get(self, _: httpx.Request, name: str, which: str) -> httpx.Response:
        for row in self._find(name, which):
            return httpx.Response(200, json=row)
        return httpx.Response(
            404,
            json={"title": "No such environment", "status": 404, "code": "EnvironmentNotFound"},
            headers={"Content-Type": "application/problem+json"},
        )

    def _archive(
        self, _: httpx.Request, name: str, verb: str, which: str | None = None
    ) -> httpx.Response:
        rows = self.kept[name] if which is None else self._find(name, which)
        for row in rows:
            row["archived"] = verb == "archive"
        return httpx.Response(200, json=rows[-1])
