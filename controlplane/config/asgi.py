"""What uvicorn serves: Django over HTTP, Channels over WebSocket, each behind its own guard."""

# why before the others: it sets Django up, which importing the consumers below needs.
from controlplane.config.http_application import http_application  # isort: split

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from controlplane.config.guards import SameOrigin
from controlplane.console.routing import websocket_urlpatterns

application = ProxyHeadersMiddleware(
    ProtocolTypeRouter(
        {
            "http": http_application(),
            "websocket": SameOrigin(
                AuthMiddlewareStack(URLRouter(websocket_urlpatterns)),
                trusted=frozenset(settings.CSRF_TRUSTED_ORIGINS),
            ),
        }
    ),
    # why here: uvicorn's own believes loopback unless told otherwise, and is off by its flag
    trusted_hosts=list(settings.SHOAL_TRUSTED_PROXIES),
)
