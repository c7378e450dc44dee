"""Paths to routes, in Triton's order of dispatch. Exact matches only; the query is ignored."""

import msgspec

_VERBS_GET = ("GET",)
_VERBS_POST = ("POST",)


class Route(msgspec.Struct, frozen=True):
    """``kind`` names the handler; ``verbs`` are the methods that the path knows."""

    kind: str
    verbs: tuple[str, ...]
    model: str = ""
    version: str = ""


_FIXED = {
    ("v2",): Route("server_metadata", _VERBS_GET),
    ("v2", "health", "live"): Route("live", _VERBS_GET),
    ("v2", "health", "ready"): Route("ready", _VERBS_GET),
    ("v2", "models", "stats"): Route("statistics", _VERBS_GET),
    ("v2", "repository", "index"): Route("index", _VERBS_POST),
    ("score",): Route("score", _VERBS_POST),
}

_MODEL = {
    "": Route("model_metadata", _VERBS_GET),
    "ready": Route("model_ready", _VERBS_GET),
    "config": Route("model_config", _VERBS_GET),
    "stats": Route("statistics", _VERBS_GET),
    "infer": Route("infer", _VERBS_POST),
}

_NOT_SERVED: dict[tuple[str, ...], str] = {
    ("v2", "systemsharedmemory"): "shared memory",
    ("v2", "cudasharedmemory"): "shared memory",
    ("v2", "trace"): "trace settings",
    ("v2", "logging"): "log settings",
}


def match(segments: tuple[str, ...]) -> Route | None:
    """The route of a path given as its decoded segments; None when there is none."""
    fixed = _FIXED.get(segments)
    if fixed is not None:
        return fixed
    if segments[:2] == ("v2", "models") and len(segments) > 2 and segments[2]:
        return _model_route(segments[2], segments[3:])
    if segments[:2] == ("v2", "repository"):
        return _repository_route(segments[2:])
    what = _NOT_SERVED.get(segments[:2])
    if what is not None:
        return Route("not_served", ("GET", "POST"), model=what)
    return None


def _model_route(model: str, rest: tuple[str, ...]) -> Route | None:
    version = ""
    if len(rest) >= 2 and rest[0] == "versions":
        version, rest = rest[1], rest[2:]
        if not (version.isascii() and version.isdigit()):
            return None
    if len(rest) > 1:
        return (
            Route("not_served", ("GET", "POST"), model="trace settings")
            if rest
            == (
                "trace",
                "setting",
            )
            else None
        )
    if rest and rest[0] in ("generate", "generate_stream"):
        return Route("not_served", _VERBS_POST, model="the generate extension")
    found = _MODEL.get(rest[0] if rest else "")
    if found is None or (rest and not rest[0]):
        return None
    return Route(found.kind, found.verbs, model, version)


def _repository_route(rest: tuple[str, ...]) -> Route | None:
    if len(rest) == 2 and rest[1] == "index":
        return Route("index", _VERBS_POST)
    if len(rest) == 3 and rest[0] == "models" and rest[2] in ("load", "unload"):
        return Route(rest[2], _VERBS_POST, model=rest[1])
    if len(rest) == 4 and rest[1] == "models" and rest[3] in ("load", "unload"):
        return Route("not_served", _VERBS_POST, model="'repository_name' specification")
    return None
