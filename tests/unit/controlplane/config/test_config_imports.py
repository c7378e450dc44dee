"""What each process starts without: libraries of 5 to 30 MB each that others need."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
REST = ("rest_framework.views", "drf_spectacular.utils", "requests", "jinja2")
CALLS = ("grpc", "google.protobuf", "tritonclient.grpc")
SIGN_IN = ("authlib", "joserfc")
POSTGRESQL = ("psycopg", "psycopg_pool")
METRICS = ("opentelemetry.sdk.metrics",)
SERVICES = ("controlplane.operations.services", "controlplane.registry.services")
CONSOLE = ("click_repl", "prompt_toolkit")  # Celery's
MODELS = (
    *("django.db.models", "django.forms", "django.views", "cryptography.x509"),
    "controlplane.nodes.models",
)
BEAT = """
from controlplane.config import jobs
from controlplane.config import beat  # as the scheduler that Celery's beat makes
jobs.LightBeat(app=jobs.app).init_loader()
"""
WORKER = """
from controlplane.config.jobs import app
app.loader.init_worker()
app.finalize()
from celery.apps.worker import Worker
Worker(app=app).on_before_init(quiet=True)
assert "deployments.reconcile" in app.tasks
"""
SUPERVISOR = """
from shoal.local import up, redis_server
redis_server.choose()
"""
AGENTS = """
from controlplane.config import agent_server
agent_server.slim()
agent_server.http_application()
from django.urls import get_resolver
get_resolver().url_patterns
"""
WEB = """
import controlplane.config.asgi
from django.urls import get_resolver
get_resolver().url_patterns
"""


@pytest.mark.parametrize(
    ("program", "without"),
    [
        (WORKER, (*REST, *CALLS, *SIGN_IN, *POSTGRESQL, *METRICS, *CONSOLE, "numpy", "httpx")),
        (
            BEAT,
            (*REST, *CALLS, *SIGN_IN, *METRICS, *SERVICES, *CONSOLE, *MODELS, "numpy", "httpx"),
        ),
        (AGENTS, (*REST, *CALLS, *SIGN_IN, *POSTGRESQL, *METRICS, "numpy", "httpx")),
        (WEB, (*CALLS, *SIGN_IN, *POSTGRESQL, "requests", *METRICS)),
        (SUPERVISOR, ("redis", "httpx", "opentelemetry", "django")),
    ],
    ids=["workers", "beat", "agents", "web", "supervisor"],
)
def test_a_process_starts_without_what_others_need(
    tmp_path: Path, program: str, without: tuple[str, ...]
) -> None:
    report = f"import sys; print(sorted({set(without)!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"],
        cwd=ROOT,
        env={
            "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
            "SHOAL_SECRET_KEY": "x" * 50,
            "SHOAL_GATEWAY_TOKEN": "x" * 50,
            "SHOAL_HOME": str(tmp_path),
            "SHOAL_REDIS_URL": "redis://127.0.0.1:1/0",
            "SHOAL_OIDC_ISSUER": "https://sso.example",
            "SHOAL_OIDC_CLIENT_ID": "studio",
            "SHOAL_OIDC_ROLES": "*=viewer",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]"
