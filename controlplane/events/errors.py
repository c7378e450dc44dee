"""What can go wrong with archives of events."""

from controlplane.core.errors import NotFound, Unavailable


class EventArchiveNotFound(NotFound):
    code = "EventArchiveNotFound"
    tries = ("`GET /api/v1/events/archives` lists them.",)


class EventArchiveBroken(Unavailable):
    code = "EventArchiveBroken"
    tries = ("Put its file back from a backup; `GET /api/v1/events/verify` says when it fits.",)
