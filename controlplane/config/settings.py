"""Django settings. Every value that an installation may change comes from ``config.env``."""

import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from controlplane.config import env, sign_in
from controlplane.config.shown_settings import settings_shown
from controlplane.registry.variables import rules_read

BASE_DIR = Path(__file__).resolve().parents[2]
SHOAL_VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
SHOAL_HOME = Path(env.text("SHOAL_HOME", str(BASE_DIR / ".shoal"))).resolve()

SECRET_KEY = env.secret("SHOAL_SECRET_KEY", file=SHOAL_HOME / "secrets" / "secret_key")
SHOAL_GATEWAY_TOKEN = env.secret(
    "SHOAL_GATEWAY_TOKEN", file=SHOAL_HOME / "secrets" / "gateway_token"
)
# With it nodes join, however many and however often; none: by single-use tokens alone.
SHOAL_NODE_TOKEN = env.optional_secret("SHOAL_NODE_TOKEN", least=32)
DEBUG = env.flag("SHOAL_DEBUG", default=False)
# What a support bundle says of the variables that this process has.
SHOAL_SETTINGS_SHOWN = settings_shown(env.given("SHOAL_", "AWS_", "PG"))

# Where people and programs reach the parts.
SHOAL_PUBLIC_URL = env.text("SHOAL_PUBLIC_URL", "http://127.0.0.1:8080").rstrip("/")
SHOAL_GATEWAY_URL = env.text("SHOAL_GATEWAY_URL", "https://127.0.0.1:8443").rstrip("/")
SHOAL_GATEWAY_PLAIN_URL = env.text("SHOAL_GATEWAY_PLAIN_URL", "http://127.0.0.1:8090").rstrip("/")
SHOAL_GATEWAY_TLS_PORT = env.integer("SHOAL_GATEWAY_TLS_PORT", 8443)
SHOAL_GATEWAY_PORT = env.integer("SHOAL_GATEWAY_PORT", 8090)
# The port of nodes and gateways, which show certificates there; the URL is what they are told.
SHOAL_AGENT_PORT = env.integer("SHOAL_AGENT_PORT", 8445)
SHOAL_AGENT_BIND = env.text("SHOAL_AGENT_BIND", "127.0.0.1")
SHOAL_AGENT_URL = env.https("SHOAL_AGENT_URL").rstrip("/") or (
    f"https://{urlsplit(SHOAL_PUBLIC_URL).netloc.rpartition(':')[0]}:{SHOAL_AGENT_PORT}"
)
# Whether Azure ML's own package is answered, below /subscriptions/; see docs/from-azure-ml.md.
SHOAL_AZURE_API = env.flag("SHOAL_AZURE_API", default=False)
SHOAL_AGENT_TLS_NAMES = [
    name.strip() for name in env.text("SHOAL_AGENT_TLS_NAMES", "").split(",") if name.strip()
]
# Who signs what endpoints show, instead of the authority that is made here: PEM, read at each use.
SHOAL_GATEWAY_CA_FILE, SHOAL_GATEWAY_CA_KEY_FILE = env.file_pair(
    "SHOAL_GATEWAY_CA_FILE", "SHOAL_GATEWAY_CA_KEY_FILE"
)
SHOAL_TLS_DIR = Path(env.text("SHOAL_TLS_DIR", str(SHOAL_HOME / "tls")))

# Stores.
SHOAL_BLOB_DIR = Path(env.text("SHOAL_BLOB_DIR", str(SHOAL_HOME / "blobs")))
# s3://bucket/prefix?endpoint=... instead of that folder; see registry/stores/s3.py.
SHOAL_BLOB_URL = env.text("SHOAL_BLOB_URL", "")
SHOAL_UPLOAD_DIR = Path(env.text("SHOAL_UPLOAD_DIR", str(SHOAL_HOME / "uploads")))
SHOAL_MAX_UPLOAD_BYTES = env.integer("SHOAL_MAX_UPLOAD_BYTES", 200 * 2**30)
SHOAL_MAX_UNPACKED_BYTES = env.integer("SHOAL_MAX_UNPACKED_BYTES", 400 * 2**30)
SHOAL_UPLOAD_TTL_S = env.integer("SHOAL_UPLOAD_TTL_S", 7 * 24 * 3600)
# Of the uploads' disk nobody gets this, so that the database can go on; None: by the disk's size.
SHOAL_UPLOAD_RESERVE_BYTES = (
    env.integer("SHOAL_UPLOAD_RESERVE_BYTES", 0, least=0)
    if env.text("SHOAL_UPLOAD_RESERVE_BYTES", "")
    else None
)
# Of one person: bytes of uploads that no version came from, and uploads that still grow. 0: any.
SHOAL_UPLOAD_QUOTA_BYTES = env.integer("SHOAL_UPLOAD_QUOTA_BYTES", 400 * 2**30, least=0)
SHOAL_UPLOAD_OPEN_LIMIT = env.integer("SHOAL_UPLOAD_OPEN_LIMIT", 100, least=0)
# Imports: networks that models may be fetched from although they are not public, a proxy on the
# way, seconds of one fetch, and how many at once. Servers that are named here need no network.
SHOAL_IMPORT_NETWORKS = env.networks("SHOAL_IMPORT_NETWORKS", whose="networks of servers")
SHOAL_IMPORT_PROXY = env.web_url("SHOAL_IMPORT_PROXY")
SHOAL_IMPORT_TIMEOUT_S = env.integer("SHOAL_IMPORT_TIMEOUT_S", 1800, least=10)
SHOAL_IMPORTS_AT_ONCE = env.integer("SHOAL_IMPORTS_AT_ONCE", 1, least=1)
SHOAL_HUB_URL = env.web_url("SHOAL_HUB_URL", "https://huggingface.co")
SHOAL_HUB_TOKEN = env.optional_secret("SHOAL_HUB_TOKEN", least=1)
SHOAL_MLFLOW_URL = env.web_url("SHOAL_MLFLOW_URL")
SHOAL_MLFLOW_TOKEN = env.optional_secret("SHOAL_MLFLOW_TOKEN", least=1)
SHOAL_IMPORT_S3_ENDPOINT = env.web_url("SHOAL_IMPORT_S3_ENDPOINT")
SHOAL_IMPORT_S3_REGION = env.text("SHOAL_IMPORT_S3_REGION", "")
SHOAL_IMPORT_S3_ACCESS_KEY = env.text("SHOAL_IMPORT_S3_ACCESS_KEY", "")
SHOAL_IMPORT_S3_SECRET_KEY = env.optional_secret("SHOAL_IMPORT_S3_SECRET_KEY", least=1)
# The program that reads models; the control plane never imports the runtime.
SHOAL_INSPECTION_COMMAND = [sys.executable, "-m", "worker_runtime.inspection"]
SHOAL_INSPECTION_TIMEOUT_S = env.integer("SHOAL_INSPECTION_TIMEOUT_S", 300)
# Whether models may bring code that nodes run; see docs/security.md.
SHOAL_SANDBOX = env.choice("SHOAL_SANDBOX", "auto", ("auto", "require", "off"))
SHOAL_CODE_POLICY = env.choice("SHOAL_CODE_POLICY", "approved", ("off", "approved", "on"))
# Variables of deployments, beside the usual ones, that whoever may deploy can set: NAME, PREFIX_*.
SHOAL_ALLOWED_VARIABLES = env.parsed("SHOAL_ALLOWED_VARIABLES", "", rules_read)
# Whether versions must be signed to be deployed or tried; see docs/security.md.
SHOAL_SIGNATURE_POLICY = env.choice("SHOAL_SIGNATURE_POLICY", "off", ("off", "require"))
# One request body: an upload's chunk of 16 MiB and some room. Held in memory, not on disk.
SHOAL_MAX_BODY_BYTES = 17 * 2**20
FILE_UPLOAD_MAX_MEMORY_SIZE = SHOAL_MAX_BODY_BYTES
SHOAL_REDIS_URL = env.text("SHOAL_REDIS_URL", "redis://127.0.0.1:6379/0")
# Days that operations which have ended are kept; 0: for ever.
SHOAL_OPERATION_RETENTION_DAYS = env.integer("SHOAL_OPERATION_RETENTION_DAYS", 90, least=0)
# Days that events stay in the database before they go to archives. Not fewer than roll-ups are
# kept: what an experiment may count depends on when its endpoint was changed.
SHOAL_EVENT_RETENTION_DAYS = env.days_or_ever("SHOAL_EVENT_RETENTION_DAYS", least=30)
# Jobs that took longer are ended: those of seconds, and those that move models' bytes.
SHOAL_CONTROL_TASK_LIMIT_S = env.integer("SHOAL_CONTROL_TASK_LIMIT_S", 60, least=10)
SHOAL_INGEST_TASK_LIMIT_S = env.integer("SHOAL_INGEST_TASK_LIMIT_S", 3600, least=60)
# Between two comparisons of a deployment's captured data with its baseline.
SHOAL_DRIFT_INTERVAL_S = env.integer("SHOAL_DRIFT_INTERVAL_S", 300, least=5)
# A node silent for longer has lost its replicas: they are placed on others.
SHOAL_NODE_LOST_AFTER_S = env.integer("SHOAL_NODE_LOST_AFTER_S", 120)
# Replicas of one operation that are fetched and started at a time; 0: all.
SHOAL_WAVE_REPLICAS = env.integer("SHOAL_WAVE_REPLICAS", 50, least=0)

ALLOWED_HOSTS = [
    *env.text("SHOAL_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(","),
    urlsplit(SHOAL_AGENT_URL).hostname or "",
    *SHOAL_AGENT_TLS_NAMES,
]
# Where the ends of the event log's chain are noted, and a URL that is told of each.
SHOAL_AUDIT_ANCHORS = Path(
    env.text("SHOAL_AUDIT_ANCHORS", str(SHOAL_HOME / "audit" / "anchors.jsonl"))
)
SHOAL_AUDIT_WEBHOOK = env.https("SHOAL_AUDIT_WEBHOOK")
# Networks that channels of alerts may send to although they are not public.
SHOAL_ALERT_NETWORKS = env.networks("SHOAL_ALERT_NETWORKS", whose="networks of receivers")
# Who takes mail of alerts; without a host nobody does.
EMAIL_HOST = env.text("SHOAL_EMAIL_HOST", "")
EMAIL_PORT = env.integer("SHOAL_EMAIL_PORT", 587, least=1)
EMAIL_HOST_USER = env.text("SHOAL_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env.optional_secret("SHOAL_EMAIL_PASSWORD", least=1)
_EMAIL_TLS = env.choice("SHOAL_EMAIL_TLS", "starttls", ("starttls", "tls", "off"))
EMAIL_USE_TLS = _EMAIL_TLS == "starttls"
EMAIL_USE_SSL = _EMAIL_TLS == "tls"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("SHOAL_EMAIL_FROM", "shoal@localhost")
# Whose X-Forwarded-For and X-Forwarded-Proto are believed; nobody's unless named.
SHOAL_TRUSTED_PROXIES = env.networks("SHOAL_TRUSTED_PROXIES")
# Who says who people are, beside Shoal itself; see docs/sign-in.md.
SHOAL_OIDC = sign_in.oidc()
SHOAL_REMOTE_USER = sign_in.remote_user()
# Roles whom a browser asks for a second factor before anything else; see docs/sign-in.md.
SHOAL_SECOND_FACTOR_ROLES = sign_in.second_factor_roles()
SHOAL_PASSWORDS = sign_in.passwords(others=SHOAL_OIDC is not None or SHOAL_REMOTE_USER is not None)
# Days that tokens of service accounts work, unless somebody says less, and at most.
SHOAL_SERVICE_TOKEN_DAYS = env.integer("SHOAL_SERVICE_TOKEN_DAYS", 90, least=1)
SHOAL_SERVICE_TOKEN_MAX_DAYS = env.integer("SHOAL_SERVICE_TOKEN_MAX_DAYS", 365, least=1)
CSRF_TRUSTED_ORIGINS = [SHOAL_PUBLIC_URL]
SESSION_COOKIE_NAME = "shoal_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = SHOAL_PUBLIC_URL.startswith("https://")
CSRF_COOKIE_NAME = "shoal_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE
CSRF_FAILURE_VIEW = "controlplane.core.http.csrf_failure"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "controlplane.config",
    "controlplane.core",
    "controlplane.accounts",
    "controlplane.registry",
    "controlplane.environments",
    "controlplane.capacity",
    "controlplane.nodes",
    "controlplane.metrics",
    "controlplane.deployments",
    "controlplane.operations",
    "controlplane.gateway",
    "controlplane.azure",
    "controlplane.system",
    "controlplane.capture",
    "controlplane.alerts",
    "controlplane.console",
    "controlplane.events",
    "controlplane.golden",
]

MIDDLEWARE = [
    "controlplane.metrics.middleware.count_requests",
    "controlplane.core.request_id.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "controlplane.core.http.SecurityHeadersMiddleware",
    "controlplane.core.plain_text.PlainTextMiddleware",
    "controlplane.config.spa.StudioFiles",
    "controlplane.core.borrowed.give_back_before_streaming",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "controlplane.accounts.remote_user.RemoteUserMiddleware",
    "controlplane.core.http.ProblemMiddleware",
    "controlplane.core.query_strings.KnownQueryMiddleware",
    "controlplane.core.pagination.PagesMiddleware",
    "controlplane.accounts.idempotency.IdempotencyMiddleware",
    "controlplane.accounts.scope.ProjectScopeMiddleware",
]
# Those of the agents' port, which has no people: neither sessions nor pages nor REST framework.
AGENTS_MIDDLEWARE = [
    "controlplane.metrics.middleware.count_requests",
    "controlplane.core.request_id.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "controlplane.core.http.SecurityHeadersMiddleware",
    "controlplane.core.plain_text.PlainTextMiddleware",
    "controlplane.core.borrowed.give_back_before_streaming",
    "django.middleware.common.CommonMiddleware",
    "controlplane.core.http.ProblemMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

ROOT_URLCONF = "controlplane.config.urls"
ASGI_APPLICATION = "controlplane.config.asgi.application"
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["controlplane.accounts.hashing.BoundedArgon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"}
]

DATABASES = {
    "default": env.database("SHOAL_DATABASE_URL", f"sqlite:///{SHOAL_HOME / 'db' / 'main.db'}"),
    # why: samples arrive several times a second; in one file they would hold the main write lock.
    "metrics": env.database(
        "SHOAL_METRICS_DATABASE_URL", f"sqlite:///{SHOAL_HOME / 'db' / 'metrics.db'}"
    ),
}
DATABASE_ROUTERS = ["controlplane.config.routers.MetricsRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            # why: redis-py's default pool of 100 refuses the 100th browser, and its 5 s socket
            # timeout equals channels_redis's own blocking read and kills idle sockets.
            "hosts": [
                {"address": SHOAL_REDIS_URL, "max_connections": 2000, "socket_timeout": None}
            ],
        },
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "controlplane.accounts.auth.ApiTokenAuthentication",
        "controlplane.accounts.auth.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["controlplane.accounts.permissions.RolePermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.core.parsers.SafeJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "controlplane.core.openapi.CompleteAnswers",
    "EXCEPTION_HANDLER": "controlplane.core.rest_exceptions.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Shoal",
    "DESCRIPTION": "Register models, deploy them to nodes, route traffic, watch them.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "controlplane.core.openapi.problems_told",
        "controlplane.config.openapi_examples.examples_shown",
    ],
    "ENUM_NAME_OVERRIDES": {
        "OperationStateEnum": ["Queued", "Running", "Succeeded", "Failed", "Canceled"],
        "StageStatusEnum": "controlplane.operations.types.StageStatus",
        "StrictnessEnum": [("preferred", "Preferred"), ("required", "Required")],
        "SeverityEnum": ["info", "warning", "error"],
        "AlertSeverityEnum": "controlplane.alerts.types.Severity",
        "ChannelKindEnum": "controlplane.alerts.types.ChannelKind",
        "ObjectiveKindEnum": ["availability", "latency"],
        "ExperimentVerdictEnum": ["worse", "better", "no_difference", "too_little_data"],
        "WatchVerdictEnum": ["fine", "too_few", "none_gains", "nobody", "slower", "errors"],
        "DriftVerdictEnum": ["no_baseline", "too_little_data", "stable", "moderate", "drift"],
        "RolloutSourceEnum": ["cases", "random", "captured"],
        "ComparedSourceEnum": ["golden", "captured"],
        "SystemStateEnum": ["ok", "warning", "error", "unknown"],
        "SecondFactorEnum": ["on", "off", "missing", "elsewhere"],
        "RoleEnum": "controlplane.accounts.models.User.Role",
        "ProjectRoleEnum": "controlplane.accounts.models.Membership.Role",
        "EndpointProvisioningStateEnum": ["Updating", "Succeeded", "Deleting"],
    },
}

STATIC_URL = "/assets/"
FRONTEND_DIST = Path(env.text("SHOAL_FRONTEND_DIST", str(BASE_DIR / "frontend" / "dist")))
WHITENOISE_ROOT = FRONTEND_DIST if FRONTEND_DIST.is_dir() else None
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/assets/"
WHITENOISE_ALLOW_ALL_ORIGINS = False
DATA_UPLOAD_MAX_MEMORY_SIZE = SHOAL_MAX_BODY_BYTES
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname:<7} {name}: {message}", "style": "{"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    # why: authlib writes codes and verifiers at DEBUG, httpx whole URLs at INFO, those of webhooks,
    # which are secrets themselves
    "loggers": {"authlib": {"level": "INFO"}, "httpx": {"level": "WARNING"}},
    "root": {"handlers": ["stderr"], "level": env.text("SHOAL_LOG_LEVEL", "INFO")},
}
