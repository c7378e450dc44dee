"""What a cluster brings: PostgreSQL, Redis with a password, a bucket."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import httpx
import redis

from controlplane.core.certificates import Signer, key_pem, pem
from tests.production.network import HOST
from tests.support.postgres import Postgres, own_postgres
from tests.support.reaper import clean_environment, die_with_parent
from tests.support.runtime_process import wait_until

BIN = Path(sys.executable).parent
PASSWORD = "a:b/c@d?e"  # what a URL must quote
REDIS_PORT, BUCKET_PORT = 6379, 9000
LOGIN = {"AWS_ACCESS_KEY_ID": "shoal", "AWS_SECRET_ACCESS_KEY": "only-for-tests"}


@dataclass
class Redis:
    """Keeps nothing on the disk: what is stopped is lost."""

    folder: Path

    @property
    def url(self) -> str:
        return f"redis://default:{quote(PASSWORD, safe='')}@{HOST}:{REDIS_PORT}/0"

    def start(self) -> None:
        command = [str(BIN / "redis-server"), "--port", str(REDIS_PORT), "--bind", HOST]
        command += ["--save", "", "--requirepass", PASSWORD, "--dir", str(self.folder)]
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                die_with_parent(*command), stdout=log, stderr=log, env=clean_environment()
            )
        wait_until(self._answers, "Redis")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False


@dataclass(frozen=True)
class Neighbours:
    postgres: Postgres
    redis: Redis
    secrets: dict[str, dict[str, str]]


@contextmanager
def neighbours(folder: Path) -> Iterator[Neighbours]:
    """All of them, and the Secrets that an operator makes before the installation."""
    with ExitStack() as held:
        postgres = held.enter_context(own_postgres())
        broker = Redis(folder)
        broker.start()
        held.callback(broker.kill)
        held.enter_context(_bucket(folder))
        databases = postgres.environment
        now = datetime.now(UTC)
        authority = Signer.new("shoal agents", now=now, life=timedelta(days=3650))
        names = ("secret-key", "gateway-token", "node-token")
        yield Neighbours(
            postgres,
            broker,
            {
                "shoal-keys": {name: secrets.token_urlsafe(33) for name in names},
                "shoal-database": {"uri": databases["SHOAL_DATABASE_URL"]},
                "shoal-metrics-database": {"uri": databases["SHOAL_METRICS_DATABASE_URL"]},
                "shoal-redis": {"url": broker.url},
                "shoal-agents-authority": {
                    "tls.crt": pem(authority.certificate),
                    "tls.key": key_pem(authority.key),
                },
                "shoal-bucket": LOGIN,
            },
        )


@contextmanager
def _bucket(folder: Path) -> Iterator[None]:
    """A server of S3 (moto's) with an empty bucket."""
    command = [str(BIN / "moto_server"), "-H", HOST, "-p", str(BUCKET_PORT)]
    with (folder / "s3.log").open("wb") as log:
        server = subprocess.Popen(
            die_with_parent(*command), stdout=log, stderr=log, env={**os.environ, **LOGIN}
        )
    try:

        def made() -> bool:
            assert server.poll() is None, (folder / "s3.log").read_text()
            try:
                url = f"http://{HOST}:{BUCKET_PORT}/models"
                return httpx.put(url, trust_env=False).is_success
            except httpx.TransportError:
                return False

        wait_until(made, "the bucket")
        yield
    finally:
        server.kill()
        server.wait()
