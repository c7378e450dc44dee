"""Reads of drafts: everybody sees their own."""

from django.db.models import QuerySet

from controlplane.accounts.models import User
from controlplane.drafts.errors import DraftNotFound
from controlplane.drafts.models import Draft


def draft_list(user: User) -> QuerySet[Draft]:
    return Draft.objects.filter(owner=user)


def draft_get(user: User, draft_id: str) -> Draft:
    draft = draft_list(user).filter(pk=draft_id).first()
    if draft is None:
        raise DraftNotFound(
            "No such draft. It was deployed or discarded, or it is another user's.",
            hints=("Start a new one.",),
        )
    return draft
