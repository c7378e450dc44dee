"""Paths to routes, in Triton's order of dispatch. Exact matches only; the query is ignored."""

import re
from urllib.parse import unquote

import msgspec

from worker_runtime.types.listening import Category

_GET = ("GET",)
_POST = ("POST",)
_BOTH = ("GET", "POST")
_INT64_MAX = 2**63 - 1


class Route(msgspec.Struct, frozen=True):
    """``kind`` names the handler; ``verbs`` are the methods that the path knows.

    ``name`` is a model's or a region's, ``category`` what a restriction of it is called.
    """

    kind: str
    verbs: tuple[str, ...]
    category: Category | None = None
    name: str = ""
    version: str = ""
    repository: str = ""


_MODEL_PATH = re.compile(
    r"/v2/models/([^/]+)(?:/versions/([0-9]+))?"
    r"(?:/(infer|generate|generate_stream|ready|config|stats|trace/setting))?"
)
_REPOSITORY_PATH = re.compile(r"/v2/repository(?:/([^/]+))?/(index|models/([^/]+)/(load|unload))")
_REGION_PATH = re.compile(
    r"/v2/(system|cuda)sharedmemory(?:/region/([^/]+))?/(status|register|unregister)"
)

# Of a letter, a digit, one of -._~ or a slash; in lower case; or none at all.
_NEEDLESS_ESCAPE = re.compile(
    r"%(?:2[DEF]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]|(?![0-9A-F]{2}))"
)

_FIXED = {
    "/v2/models/stats": Route("statistics", _GET, Category.STATISTICS),
    "/v2/logging": Route("logging", _BOTH, Category.LOGGING),
    "/v2": Route("server_metadata", _GET, Category.METADATA),
    "/v2/health/live": Route("live", _GET, Category.HEALTH),
    "/v2/health/ready": Route("ready", _GET, Category.HEALTH),
    "/v2/trace/setting": Route("trace", _BOTH, Category.TRACE),
    "/score": Route("score", (*_BOTH, "OPTIONS"), Category.INFERENCE),
    "/swagger.json": Route("swagger", _GET, Category.METADATA),
}

_MODEL = {
    None: Route("model_metadata", _GET, Category.METADATA),
    "ready": Route("model_ready", _GET, Category.HEALTH),
    "config": Route("model_config", _GET, Category.MODEL_CONFIG),
    "stats": Route("statistics", _GET, Category.STATISTICS),
    "infer": Route("infer", _POST, Category.INFERENCE),
    "generate": Route("generate", _POST, Category.INFERENCE),
    "generate_stream": Route("generate_stream", _POST, Category.INFERENCE),
    "trace/setting": Route("trace", _BOTH, Category.TRACE),
}


def match(path: str) -> Route | None:
    """The route of a path as it was sent, without its query; None when there is none."""
    fixed = _FIXED.get(path)
    if fixed is not None:
        return fixed
    found = _MODEL_PATH.fullmatch(path)
    if found is not None:
        name, version, kind = found.groups()
        if kind == "trace/setting" and version:
            return None
        route = msgspec.structs.replace(_MODEL[kind], name=_plain(name), version=version or "")
        if version and int(version) > _INT64_MAX:
            return msgspec.structs.replace(route, kind="bad_version")
        if version:
            return msgspec.structs.replace(route, version=str(int(version)))
        return route
    found = _REGION_PATH.fullmatch(path)
    if found is not None:
        memory, name, action = found.groups()
        verbs = _GET if action == "status" else _POST
        kind = f"{memory}_{action}"
        return Route(kind, verbs, Category.SHARED_MEMORY, name=_plain(name or ""))
    found = _REPOSITORY_PATH.fullmatch(path)
    if found is not None:
        repository, rest, name, action = found.groups()
        return Route(
            action or rest,
            _POST,
            Category.MODEL_REPOSITORY,
            name=_plain(name or ""),
            repository=repository or "",
        )
    return None


def _plain(name: str) -> str:
    """A name as it is. Triton never decodes; its clients encode what a path cannot hold.

    So escapes are undone when there are none but those that a client has to make.
    """
    if "%" not in name or _NEEDLESS_ESCAPE.search(name):
        return name
    return unquote(name)
