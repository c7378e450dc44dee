"""Promises of docs/security.md that belong to no app alone: the wiring, not its parts."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import AsyncClient

from controlplane.accounts.models import User
from controlplane.accounts.services import token_create
from controlplane.config import settings as production
from controlplane.config.celery import app
from controlplane.console.watch import LOOK_EVERY_S
from controlplane.gateway.routes import GRPC_METHODS
from tests.support.registered_models import model_register

FRONTEND = Path(__file__).parents[4] / "frontend" / "src"
# What would turn a name, a label or a line of a log into markup or into a program.
MARKUP = re.compile(
    r"dangerouslySetInnerHTML|\.(inner|outer)HTML\b|insertAdjacentHTML|document\.write"
    r"|srcDoc=|createContextualFragment|new Function\(|\beval\("
)


@pytest.mark.parametrize("path", ["/ws/v1", "/ws/v1/console", "/ws/anything"])
async def test_a_socket_from_another_site_is_refused_before_anything_reads_it(path: str) -> None:
    from controlplane.config.asgi import application

    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read from a page of another site")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "websocket",
        "path": path,
        "headers": [(b"host", b"127.0.0.1:8080"), (b"origin", b"https://evil.example")],
        "query_string": b"",
        "subprotocols": [],
    }
    await asyncio.wait_for(application(scope, receive, send), 10)
    assert sent == [{"type": "websocket.close", "code": 4403}]


def test_sockets_look_at_their_session_within_a_minute() -> None:
    assert LOOK_EVERY_S <= 60


def test_cookies_keep_from_scripts_and_other_sites() -> None:
    assert settings.SESSION_COOKIE_HTTPONLY
    assert (settings.SESSION_COOKIE_SAMESITE, settings.CSRF_COOKIE_SAMESITE) == ("Lax", "Lax")
    # why not from django.conf: tests hash more quickly
    assert production.PASSWORD_HASHERS == [
        "controlplane.accounts.hashing.BoundedArgon2PasswordHasher"
    ]


def test_jobs_are_json_and_never_pickles() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"


@pytest.mark.parametrize(
    "method",
    [
        "RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload", "TraceSetting",
        "LogSettings", "SystemSharedMemoryStatus", "SystemSharedMemoryRegister",
        "SystemSharedMemoryUnregister", "CudaSharedMemoryStatus", "CudaSharedMemoryRegister",
        "CudaSharedMemoryUnregister",
    ],
)  # fmt: skip
def test_the_gateway_passes_no_grpc_method_that_manages(method: str) -> None:
    assert not re.fullmatch(GRPC_METHODS, method)


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_somebody_uploaded_is_kept_and_never_shown(deployer: User) -> None:
    page = b"<script>alert(1)</script>"
    await sync_to_async(model_register)(content=page)
    _, clear = await sync_to_async(token_create)(user=deployer, name="t", actor="dora")
    answer = await AsyncClient().get(
        "/api/v1/models/digits/versions/1/files/digits/1/model.onnx",
        headers={"Authorization": f"Bearer {clear}"},
    )
    assert b"".join([piece async for piece in answer.streaming_content]) == page
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "script-src 'self'" in answer["Content-Security-Policy"]


def test_the_studio_renders_what_others_wrote_as_text() -> None:
    sources = [p for p in FRONTEND.rglob("*.ts*") if p.name != "schema.d.ts"]
    found = [
        f"{path.relative_to(FRONTEND)}: {match[0]}"
        for path in sources
        for match in MARKUP.finditer(path.read_text())
    ]
    assert len(sources) > 100
    assert found == []
