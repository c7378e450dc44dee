"""The part of Azure's blob service that its package sends files with.

A container is the datastore, where a blob's name begins with `LocalUpload/<hash>/`, or that of one
code asset, whose address bears a signature instead of a token.
"""

import re
from typing import Any, Final, cast
from xml.sax.saxutils import escape

from django.http import HttpResponse
from rest_framework import status
from rest_framework.authentication import BaseAuthentication
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from controlplane.accounts.auth import CHALLENGE, ApiTokenAuthentication
from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services import token_touch
from controlplane.azure import selectors
from controlplane.azure.api.base import ArmView, project_called
from controlplane.azure.errors import AzureInvalid, BlobNotFound
from controlplane.azure.grants import granted
from controlplane.azure.services import folders
from controlplane.azure.types import DATASTORE
from controlplane.registry.api.uploads import AnyType
from controlplane.registry.models import AnnouncedFile
from controlplane.registry.services.upload_progress import files_of

UPLOADS: Final = "LocalUpload"
CODE: Final = "code-"
LONGEST_LIST: Final = 5000
BLOCK = re.compile(r"<(?:Latest|Uncommitted|Committed)>([A-Za-z0-9+/=]{1,88})</")
MOST_XML_BYTES: Final = 8 * 2**20


class GrantAuthentication(BaseAuthentication):
    """``?sig=``: an address that was handed out for this container."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        signature = request.query_params.get("sig")
        container = request.parser_context["kwargs"]["container"]
        if not signature or "Authorization" in request.headers:
            return None
        token = granted(signature, container)
        if token is None:
            return None
        token_touch(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        del request
        return CHALLENGE


class AnyAnswer(JSONRenderer):
    """Whatever kind of answer is asked for: errors are JSON, lists XML."""

    media_type = "*/*"


class BlobView(ArmView):
    authentication_classes = [ApiTokenAuthentication, GrantAuthentication]
    parser_classes = [AnyType]
    renderer_classes = [AnyAnswer]

    def _where(self) -> tuple[User, str, str]:
        """Whose, the place of the folder, and the path in it. Raises AzureInvalid."""
        place, path = split(self.kwargs["container"], self.kwargs["blob"])
        return cast(User, self.request.user), place, path

    def head(self, request: Request, **_: str) -> HttpResponse:
        del request
        try:
            user, place, path = self._where()
        except AzureInvalid as error:  # the package looks at places of before, too
            raise BlobNotFound(error.message) from error
        row = selectors.blob_get(user, place, path)
        answer = _said(row, status.HTTP_200_OK)
        answer["Content-Length"] = str(row.size)
        answer["x-ms-blob-type"] = "BlockBlob"
        for name, value in selectors.folder_get(user, place).metadata.get(path, {}).items():
            answer[f"x-ms-meta-{name}"] = value
        return answer

    def put(self, request: Request, workspace: str, **_: str) -> HttpResponse:
        kind = request.query_params.get("comp", "")
        md5 = request.headers.get("Content-MD5", "")
        user, place, path = self._where()
        told: dict[str, Any] = {
            "user": user,
            "place": place,
            "path": path,
            "project": project_called(workspace),
            "source": request._request,
            "md5": md5,
        }
        if kind == "block":
            folders.block_put(**told, block=_block_of(request))
            return HttpResponse(status=status.HTTP_201_CREATED)
        if kind == "blocklist":
            blocks = _blocks_of(request)
            row = folders.blocks_put(user=user, place=place, path=path, blocks=blocks)
            return _said(row, status.HTTP_201_CREATED)
        if kind == "metadata":
            folders.metadata_set(user=user, place=place, path=path, metadata=_metadata_of(request))
            return HttpResponse(status=status.HTTP_200_OK)
        if kind:
            raise AzureInvalid(f"comp: {kind[:40]!r} is not done here.", field="comp")
        if request.headers.get("x-ms-blob-type") != "BlockBlob":
            raise AzureInvalid(
                "x-ms-blob-type: expected BlockBlob, no other kind is kept.", field="x-ms-blob-type"
            )
        row = folders.blob_put(**told, fresh=request.headers.get("If-None-Match") == "*")
        return _said(row, status.HTTP_201_CREATED)


class ContainerView(ArmView):
    authentication_classes = [ApiTokenAuthentication, GrantAuthentication]
    renderer_classes = [AnyAnswer]

    def get(self, request: Request, container: str, **_: str) -> HttpResponse:
        """The blobs whose names begin with ``prefix``, which names their folder."""
        if request.query_params.get("comp") != "list":
            raise AzureInvalid("comp: expected list.", field="comp")
        prefix = request.query_params.get("prefix", "")
        user = cast(User, request.user)
        place, path = split(container, f"{prefix}/") if prefix or container == DATASTORE else (
            container, ""
        )  # fmt: skip
        path = path.removesuffix("/")
        try:
            folder = selectors.folder_get(user, place)
        except BlobNotFound:
            return _listed(container, prefix, [])
        base = f"{place}/" if container == DATASTORE else ""
        rows = files_of(folder.upload_id).filter(path__startswith=path)[:LONGEST_LIST]
        return _listed(container, prefix, [(f"{base}{row.path}", row.size) for row in rows])


def split(container: str, blob: str) -> tuple[str, str]:
    """The place of the folder, and the path in it. Raises AzureInvalid."""
    if container.startswith(CODE):
        return container, blob
    if container != DATASTORE:
        raise AzureInvalid(
            f"There is no container {container[:60]!r}.",
            code="ContainerNotFound",
            hints=(f"{DATASTORE}, or the address that a code asset was given.",),
        )
    first, _, rest = blob.partition("/")
    asset, _, path = rest.partition("/")
    if first != UPLOADS or not asset or not path:
        raise AzureInvalid(
            f"{blob[:120]!r} is no place to send a file to, expected {UPLOADS}/<hash>/<path>.",
            code="InvalidResourceName",
            hints=("Azure's package sends to such places by itself.",),
        )
    return f"{first}/{asset}", path


def _said(row: AnnouncedFile, code: int) -> HttpResponse:
    answer = HttpResponse(status=code)
    answer["ETag"] = f'"{row.sha256}"'
    return answer


def _block_of(request: Request) -> str:
    block = request.query_params.get("blockid", "")
    if not re.fullmatch(r"[A-Za-z0-9+/=]{1,88}", block):
        raise AzureInvalid(
            f"blockid: {block[:40]!r}, expected up to 64 bytes as base64.", field="blockid"
        )
    return block


def _blocks_of(request: Request) -> list[str]:
    body = request._request.read(MOST_XML_BYTES + 1)
    if len(body) > MOST_XML_BYTES:
        raise AzureInvalid(f"The list of blocks has more than {MOST_XML_BYTES} bytes.")
    # why no reader of XML: all that may be in it are these elements
    return BLOCK.findall(body.decode("utf-8", "replace"))


def _metadata_of(request: Request) -> dict[str, str]:
    """What headers with this start say. Django leaves out those with an underscore in their names,
    which Azure's package has."""
    start = "x-ms-meta-"
    raw = getattr(request._request, "scope", {}).get("headers", ())
    found = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
    return {
        name.lower().removeprefix(start): value
        for name, value in found
        if name.lower().startswith(start)
    }


def _listed(container: str, prefix: str, blobs: list[tuple[str, int]]) -> HttpResponse:
    items = "".join(
        f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>{size}</Content-Length>"
        "<BlobType>BlockBlob</BlobType></Properties></Blob>"
        for name, size in blobs
    )
    return HttpResponse(
        '<?xml version="1.0" encoding="utf-8"?>'
        f'<EnumerationResults ContainerName="{escape(container)}"><Prefix>{escape(prefix)}</Prefix>'
        f"<Blobs>{items}</Blobs><NextMarker/></EnumerationResults>",
        content_type="application/xml",
    )
