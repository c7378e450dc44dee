"""One file by its URL: a model, or an archive of models."""

from controlplane.registry.sources.addresses import Source
from controlplane.registry.sources.found import Found, Remote
from controlplane.registry.sources.web import Web


class Link:
    def find(self, source: Source, web: Web) -> Found:
        del web  # what it is, its bytes say
        remote = Remote(path=source.filename, url=source.text)
        return Found(filename=source.filename, files=(remote,), archive=True)
