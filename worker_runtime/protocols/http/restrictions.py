"""Parts of the API that want a header: asked before anything else about a request is looked at."""

from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.routes import Route
from worker_runtime.types.restrictions import Restrictions


def check(restrictions: Restrictions, route: Route, head: Head) -> None:
    """Raises HttpRefusal (403) unless the request may use ``route``."""
    restriction = restrictions.get(route.category) if route.category is not None else None
    if restriction is None:
        return
    wanted = restriction.key.lower()
    given = next((value for name, value in head.headers if name.lower() == wanted), None)
    if given != restriction.value:
        raise HttpRefusal(403, f"This API is restricted, expecting header '{restriction.key}'")
