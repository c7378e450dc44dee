"""Which settings may be seen by others: by a list of those that hold no secret.

Of all others is said only that they are set. A new setting is so kept back until it is put here.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

# Numbers, words of a fixed choice, switches, folders: by the names that an installation sets.
PLAIN: Final = (
    "SHOAL_AGENT_BIND", "SHOAL_AGENT_PORT", "SHOAL_AZURE_API", "SHOAL_BLOB_DIR",
    "SHOAL_CODE_POLICY", "SHOAL_CONTROL_TASK_LIMIT_S", "SHOAL_DATABASE_CONNECT_TIMEOUT_S",
    "SHOAL_DATABASE_LOCK_TIMEOUT_S", "SHOAL_DATABASE_POOL_SIZE",
    "SHOAL_DATABASE_STATEMENT_TIMEOUT_S", "SHOAL_DEBUG", "SHOAL_DRIFT_INTERVAL_S",
    "SHOAL_EMAIL_PORT", "SHOAL_EMAIL_TLS", "SHOAL_EVENT_RETENTION_DAYS", "SHOAL_GATEWAY_PORT",
    "SHOAL_GATEWAY_TLS_PORT", "SHOAL_HOME", "SHOAL_IMPORTS_AT_ONCE", "SHOAL_IMPORT_TIMEOUT_S",
    "SHOAL_INGEST_TASK_LIMIT_S", "SHOAL_INSPECTION_TIMEOUT_S", "SHOAL_LOG_LEVEL",
    "SHOAL_MAX_UNPACKED_BYTES", "SHOAL_MAX_UPLOAD_BYTES", "SHOAL_NODE_LOST_AFTER_S",
    "SHOAL_NODE_NAME", "SHOAL_OPERATION_RETENTION_DAYS", "SHOAL_PASSWORDS", "SHOAL_SANDBOX",
    "SHOAL_SECOND_FACTOR_ROLES", "SHOAL_SERVICE_TOKEN_DAYS", "SHOAL_SERVICE_TOKEN_MAX_DAYS",
    "SHOAL_SIGNATURE_POLICY", "SHOAL_STUDIO_PORT", "SHOAL_TLS_DIR", "SHOAL_TRUSTED_PROXIES",
    "SHOAL_UPLOAD_DIR", "SHOAL_UPLOAD_OPEN_LIMIT", "SHOAL_UPLOAD_QUOTA_BYTES",
    "SHOAL_UPLOAD_RESERVE_BYTES", "SHOAL_UPLOAD_TTL_S", "SHOAL_WAVE_REPLICAS",
)  # fmt: skip
# Of these the scheme, the host, the port and for databases and buckets no more.
ADDRESSES: Final = (
    "SHOAL_AGENT_URL", "SHOAL_BLOB_URL", "SHOAL_CONTROL_URL", "SHOAL_DATABASE_URL",
    "SHOAL_GATEWAY_PLAIN_URL", "SHOAL_GATEWAY_URL", "SHOAL_HUB_URL", "SHOAL_METRICS_DATABASE_URL",
    "SHOAL_MLFLOW_URL", "SHOAL_PUBLIC_URL", "SHOAL_REDIS_URL",
)  # fmt: skip
KEPT_BACK: Final = "(set, not shown)"


def settings_shown(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that the environment sets, by name."""
    found = {}
    for name in sorted(environment):
        if not environment[name]:
            continue
        if name in PLAIN:
            found[name] = environment[name]
        elif name in ADDRESSES:
            found[name] = _address(environment[name])
        else:
            found[name] = KEPT_BACK
    return found


def _address(url: str) -> str:
    """Without user, path and query; nothing where a password that nobody quoted may be in it."""
    try:
        parts = urlsplit(url)
        where = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:  # no address, or a port that is no number
        return KEPT_BACK
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return KEPT_BACK
    return f"{parts.scheme}://{where}"
