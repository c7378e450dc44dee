"""The OpenAPI document as it is served: made once per process, told apart by its ETag.

Anybody may ask for it, and making it takes most of a second.
"""

import gzip
import hashlib
import threading
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

from controlplane.core.sending import has_seen

CONTENT_TYPE: Final = "application/vnd.oai.openapi+json"
_making = threading.Lock()


@dataclass(frozen=True, slots=True)
class Document:
    text: bytes
    packed: bytes  # gzip
    etag: str


@cache
def _made() -> Document:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    text = OpenApiJsonRenderer().render(schema)
    packed = gzip.compress(text, mtime=0)
    return Document(text, packed, f'W/"{hashlib.sha256(text).hexdigest()[:32]}"')


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """All that there is; parameters change nothing. 304 for who has it."""
    with _making:  # why: a cache alone lets everybody make it who comes before it is made
        document = _made()
    if has_seen(request, document.etag):
        response = HttpResponse(status=304)
    elif _takes_gzip(request):
        response = HttpResponse(document.packed, content_type=CONTENT_TYPE)
        response["Content-Encoding"] = "gzip"
    else:
        response = HttpResponse(document.text, content_type=CONTENT_TYPE)
    response["ETag"] = document.etag
    response["Cache-Control"] = "no-cache"  # keep it, and ask whether it is still the one
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def _takes_gzip(request: HttpRequest) -> bool:
    offered = request.headers.get("Accept-Encoding", "").lower().split(",")
    names = {part.partition(";")[0].strip(): part.partition(";")[2] for part in offered}
    quality = names.get("gzip", names.get("*", "q=0")).replace(" ", "")
    return quality not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
