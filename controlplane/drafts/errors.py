"""What can go wrong with drafts. Texts are for people and are shown as they are."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class DraftNotFound(NotFound):
    code = "DraftNotFound"


class DraftChanged(Conflict):
    """``extra["revision"]`` is the one that is kept."""

    code = "DraftChanged"


class TooManyDrafts(Invalid):
    code = "TooManyDrafts"
