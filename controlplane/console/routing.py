"""WebSocket routes."""

from django.urls import URLPattern, path

from controlplane.console.consumers import ConsoleConsumer, LiveConsumer

websocket_urlpatterns: list[URLPattern] = [
    path("ws/v1", LiveConsumer.as_asgi()),
    path("ws/v1/console/<str:endpoint>", ConsoleConsumer.as_asgi()),
]
