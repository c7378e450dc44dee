"""The studio's page for every route of the browser, and its assets for good."""

import json
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from controlplane.config.spa import StudioFiles


@pytest.fixture
def dist(settings: Settings, tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(
        '<script>theme()</script><script type="module" src="/assets/app-1a2b.js"></script>'
    )
    (folder / "assets" / "app-1a2b.js").write_text("let x;")
    settings.FRONTEND_DIST = folder
    settings.WHITENOISE_ROOT = folder
    return folder


@pytest.mark.parametrize("path", ["/", "/models/digits", "/endpoints/a.b/console"])
def test_every_route_of_the_browser_gets_the_page(dist: Path, path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 200
    assert b"app-1a2b.js" in answer.content
    assert answer["Cache-Control"] == "no-cache"
    assert "shoal_csrf" in answer.cookies


def test_an_inline_script_of_the_page_is_admitted_by_its_hash(dist: Path) -> None:
    policy = Client().get("/")["Content-Security-Policy"]
    # echo -n 'theme()' | openssl dgst -sha256 -binary | base64
    assert "script-src 'self' 'sha256-" in policy
    assert policy.count("sha256-") == 1
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_an_asset_is_kept_for_good_and_answered_in_one_piece(dist: Path) -> None:
    files = StudioFiles(lambda request: HttpResponse(status=404))
    answer = files(RequestFactory().get("/assets/app-1a2b.js"))
    assert (answer.status_code, answer.content) == (200, b"let x;")
    assert answer.streaming is False
    assert "immutable" in answer["Cache-Control"]
    page = files(RequestFactory().get("/index.html"))
    assert "immutable" not in page["Cache-Control"]
    again = files(
        RequestFactory().get(
            "/assets/app-1a2b.js", headers={"if-modified-since": answer["Last-Modified"]}
        )
    )
    assert (again.status_code, again.content) == (304, b"")


def test_without_a_build_the_page_says_what_to_do(settings: Settings, tmp_path: Path) -> None:
    settings.FRONTEND_DIST = tmp_path
    answer = Client().get("/")
    assert answer.status_code == 503
    assert "make up" in answer.content.decode()


def test_the_page_is_read_only(dist: Path) -> None:
    assert Client().post("/models").status_code == 405


def test_the_openapi_document_is_open_and_types_its_answers(db: None) -> None:
    answer = Client().get("/api/v1/openapi.json")
    assert answer.status_code == 200
    document = json.loads(answer.content)
    assert document["openapi"].startswith("3.1")
    upload = document["paths"]["/api/v1/uploads/{upload_id}"]["patch"]
    assert "application/offset+octet-stream" in upload["requestBody"]["content"]
    schema = upload["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/Upload"}
    assert set(document["components"]["securitySchemes"]) >= {"session", "token"}
