"""What can go wrong with drafts. Texts are for people and are shown as they are."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class DraftNotFound(NotFound):
    code = "DraftNotFound"
    tries = ("`GET /api/v1/drafts` lists yours.",)


class DraftChanged(Conflict):
    """``extra["revision"]`` is the one that is kept."""

    code = "DraftChanged"
    tries = ("Read it again, then save with the `revision` that is kept.",)


class TooManyDrafts(Invalid):
    code = "TooManyDrafts"
    tries = ("Delete one that you do not need.",)
