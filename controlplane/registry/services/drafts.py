"""Drafts: made, saved, dropped. A draft keeps its upload from expiring."""

from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.registry.errors import DraftChanged, TooManyDrafts, UploadNotFound
from controlplane.registry.models import Draft
from controlplane.registry.selectors import draft_get, draft_list
from controlplane.registry.services.uploads import upload_delete, upload_keep

MOST = 100  # of one user


def draft_create(*, user: User, title: str, upload_id: str, data: dict[str, Any]) -> Draft:
    """Raises TooManyDrafts."""
    if draft_list(user).count() >= MOST:
        raise TooManyDrafts(
            f"You have {MOST} drafts already.", hints=("Discard some that you no longer need.",)
        )
    draft = Draft.objects.create(
        id=uuid4().hex, owner=user, title=title, upload_id=upload_id, data=data
    )
    upload_keep(upload_id=upload_id)
    return draft


def draft_save(
    *,
    user: User,
    draft_id: str,
    title: str,
    upload_id: str,
    data: dict[str, Any],
    revision: int | None,
) -> Draft:
    """The next revision. Raises DraftNotFound; DraftChanged unless ``revision`` is the kept one."""
    draft = draft_get(user, draft_id)
    seen = draft.revision if revision is None else revision
    won = Draft.objects.filter(pk=draft.pk, revision=seen).update(
        title=title,
        upload_id=upload_id,
        data=data,
        revision=seen + 1,
        updated_at=timezone.now(),
    )
    draft = draft_get(user, draft_id)  # it may have been discarded meanwhile
    if not won:
        raise DraftChanged(
            f"This draft was saved elsewhere meanwhile: it is at revision {draft.revision}, "
            f"not {seen}.",
            hints=("Load it again, or save without `revision` to overwrite it.",),
            extra={"revision": draft.revision},
        )
    upload_keep(upload_id=upload_id)
    return draft


@transaction.atomic
def draft_delete(*, user: User, draft_id: str, keep_upload: bool) -> None:
    """Drop it, with its upload unless ``keep_upload``; what was registered from that stays."""
    draft = draft_get(user, draft_id)
    draft.delete()
    if draft.upload_id and not keep_upload:
        try:
            upload_delete(upload_id=draft.upload_id, actor=user.get_username())
        except UploadNotFound:
            return  # it expired before
