"""Answering once an upload was read, without holding a thread meanwhile: Azure's package expects
that what it puts is there when the answer comes."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.azure.api.base import ArmView
from controlplane.azure.errors import AzureInvalid
from controlplane.core.borrowed import give_back
from controlplane.core.errors import Unavailable
from controlplane.registry.models import Upload
from controlplane.registry.selectors import ACTIVE, upload_get

LOOK_EVERY_S: Final = 0.25
# Less than what clients wait for an answer, and proxies in between.
LONGEST_S: Final = 50.0
WAITED: Final = "controlplane.azure.upload"


class Waiting(Response):
    """Not sent: ask again once the upload has been read."""

    def __init__(self, upload: Upload) -> None:
        super().__init__(status=status.HTTP_202_ACCEPTED)
        self.upload_id = upload.pk


def upload_read(request: Request, begin: Callable[[], Upload]) -> Upload | Waiting:
    """The upload that ``begin`` hands to ingest, once it is ready. Raises what was wrong with it,
    and Unavailable where reading it takes too long."""
    meta = request._request.META
    known = meta.get(WAITED)
    upload = begin() if known is None else upload_get(known)
    if upload.state in ACTIVE:
        if known is not None:
            raise Unavailable(
                "The files are still being read.",
                code="UploadNotReady",
                extra={"retry_after_s": 2},
                hints=("Send the same again: it goes on meanwhile.",),
            )
        meta[WAITED] = upload.pk
        return Waiting(upload)
    if upload.state == Upload.State.FAILED:
        error = upload.error or {}
        raise AzureInvalid(
            " ".join(filter(None, [error.get("message"), error.get("detail")])),
            code=str(error.get("code") or "IngestFailed"),
            hints=tuple(error.get("hints") or ()),
        )
    return upload


def patient(kind: type[ArmView]) -> Any:
    """``kind`` as a view that is asked a second time where its answer was ``Waiting``."""
    ask = kind.as_view()

    def asked(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        try:
            return ask(request, **kwargs)
        finally:
            give_back()

    def active(upload_id: str) -> bool:
        try:
            return Upload.everything.filter(pk=upload_id, state__in=ACTIVE).exists()
        finally:
            give_back()

    async def view(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        _ = request.body  # read before the first time, so that it is there for the second
        answer = await sync_to_async(asked)(request, **kwargs)
        if not isinstance(answer, Waiting):
            return answer
        until = time.monotonic() + LONGEST_S
        while time.monotonic() < until:
            if not await sync_to_async(active)(answer.upload_id):
                break
            await asyncio.sleep(LOOK_EVERY_S)
        again: HttpResponseBase = await sync_to_async(asked)(request, **kwargs)
        return again

    view.cls = kind  # type: ignore[attr-defined] # what looks for views finds it
    view.initkwargs = {}  # type: ignore[attr-defined]
    view.csrf_exempt = True  # type: ignore[attr-defined] # tokens alone prove anything here
    return view
