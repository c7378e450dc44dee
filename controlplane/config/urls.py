"""Every route: the REST API, the agents' API, health, and the studio for all else."""

from django.urls import include, path, re_path

from controlplane.accounts import page_urls as sign_in_pages
from controlplane.accounts import urls as accounts
from controlplane.alerts import urls as alerts
from controlplane.azure import urls as azure
from controlplane.bottlenecks import urls as bottlenecks
from controlplane.capacity import urls as capacity
from controlplane.capture import urls as capture
from controlplane.config import agent_urls, document, spa
from controlplane.console import urls as console
from controlplane.core import health, http
from controlplane.deployments import urls as deployments
from controlplane.environments import urls as environments
from controlplane.events import urls as events
from controlplane.experiments import urls as experiments
from controlplane.gateway import urls as gateway
from controlplane.golden import urls as golden
from controlplane.nodes import urls as nodes
from controlplane.operations import urls as operations
from controlplane.overview import urls as overview
from controlplane.registry import urls as registry
from controlplane.system import urls as system

APPS = [
    accounts,
    events,
    registry,
    environments,
    nodes,
    deployments,
    operations,
    gateway,
    overview,
    bottlenecks,
    capacity,
    experiments,
    capture,
    console,
    alerts,
    golden,
    system,
]

urlpatterns = [
    path("livez", health.livez),
    path("healthz", health.livez),  # as it was called before
    path("readyz", health.readyz),
    path("api/v1/openapi.json", document.openapi),
    path("api/v1/", include(([route for app in APPS for route in app.urlpatterns], "api"))),
    *agent_urls.urlpatterns,
    *sign_in_pages.urlpatterns,
    *azure.urlpatterns,
    # why: a missing API route or asset must be a 404, never the studio's page.
    re_path(r"^(?!api/|agent/|ws/|assets/).*$", spa.studio),
]

handler400 = http.bad_request
handler403 = http.permission_denied
handler404 = http.not_found
handler500 = http.server_error
