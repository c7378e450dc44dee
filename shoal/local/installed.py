"""Which parts the environment says an installation has, for backups."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from shoal.local.archive import DATABASE
from shoal.local.backup import ANCHORS, BackupError, Installation
from shoal.local.blob_stores import Bucket, Folder
from shoal.local.postgres import Postgres
from shoal.local.settings import LocalSettings
from wire import secret_files

# Names below `secrets/`, and the variables that may hold them instead.
SECRETS = {"secret_key": "SHOAL_SECRET_KEY", "gateway_token": "SHOAL_GATEWAY_TOKEN"}


def installation(settings: LocalSettings) -> Installation:
    """Raises BackupError."""
    environment = {**settings.inherited, "SHOAL_HOME": str(settings.home)}
    url = environment.get("SHOAL_BLOB_URL", "")
    return Installation(
        home=settings.home,
        database=_database(environment, settings.home),
        blobs=Bucket(url, environment) if url else Folder(settings.blobs),
        secrets=_secrets(environment),
        anchors=Path(environment.get("SHOAL_AUDIT_ANCHORS") or settings.home / ANCHORS),
    )


def _database(environment: dict[str, str], home: Path) -> Path | Postgres:
    url = environment.get("SHOAL_DATABASE_URL", "")
    match urlsplit(url).scheme:
        case "":
            return home / DATABASE
        case "sqlite":
            return Path("/" + unquote(urlsplit(url).path).lstrip("/"))
        case "postgres" | "postgresql":
            return Postgres(url, environment)
        case scheme:
            raise BackupError(
                f"SHOAL_DATABASE_URL begins with {scheme}: expected sqlite:////absolute/path or "
                "postgresql://user:password@host/name"
            )


def _secrets(environment: dict[str, str]) -> dict[str, str]:
    try:
        found = {
            name: secret_files.secret(environment, variable) for name, variable in SECRETS.items()
        }
    except (secret_files.EmptySecret, OSError) as error:
        raise BackupError(str(error)) from error
    return {name: secret for name, secret in found.items() if secret is not None}
