"""The studio's files: hashed assets cached for good, one page for every route of the browser."""

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from whitenoise.middleware import WhiteNoiseMiddleware

from controlplane.core.http import content_security_policy

INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Shoal</title>
<body style="font: 16px/1.5 system-ui; max-width: 40em; margin: 4em auto; padding: 0 1em">
<h1>The studio is not built yet</h1>
<p>There is no <code>{index}</code>. Run <code>make up</code>, or <code>npm run build</code> in
<code>frontend/</code>, then start the web process again.</p>
<p>The REST API works meanwhile: <a href="/api/v1/openapi.json">/api/v1/openapi.json</a></p>
"""


class StudioFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise has no types
    """WhiteNoise, answering in one piece: under ASGI a synchronous file iterator would be read
    whole anyway, after a warning. The files are the studio's own build, each well below 2 MB."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        answer = static_file.get_response(request.method, request.META)
        content = b""
        if answer.file is not None:
            with answer.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(answer.status))
        del response["Content-Type"]
        for key, value in answer.headers:
            response[key] = value
        return response


@require_safe
@ensure_csrf_cookie
def studio(request: HttpRequest) -> HttpResponse:
    """index.html, never cached: it names the current hashed assets."""
    index = Path(settings.FRONTEND_DIST) / "index.html"
    try:
        page = index.read_bytes()
    except FileNotFoundError:
        response = HttpResponse(NOT_BUILT.format(index=escape(str(index))), status=503)
    else:
        hashes = tuple(_script_hash(script) for script in INLINE_SCRIPT.findall(page))
        response = HttpResponse(page)
        response["Content-Security-Policy"] = content_security_policy(
            request.get_host(), script_hashes=hashes
        )
    response["Cache-Control"] = "no-cache"
    return response


def _script_hash(script: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script).digest()).decode()
