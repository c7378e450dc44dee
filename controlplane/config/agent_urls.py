"""The agents' API alone: all that their port serves, without what people's API needs imported."""

from django.urls import include, path

from controlplane.capture import agent_urls as capture
from controlplane.core import http
from controlplane.deployments import agent_urls as deployments
from controlplane.gateway import agent_urls as gateway
from controlplane.nodes import agent_urls as nodes
from controlplane.operations import agent_urls as operations

APPS = [nodes, deployments, operations, gateway, capture]

urlpatterns = [
    path("agent/v1/", include(([route for app in APPS for route in app.urlpatterns], "agent"))),
]

handler400 = http.bad_request
handler403 = http.permission_denied
handler404 = http.not_found
handler500 = http.server_error
