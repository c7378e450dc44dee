"""Settings of the test suite: throw-away secrets, fast hashing, all else as in production."""

import os
import tempfile

os.environ.setdefault("SHOAL_SECRET_KEY", "test-" + "x" * 50)
os.environ.setdefault("SHOAL_AZURE_API", "on")
os.environ.setdefault("SHOAL_GATEWAY_TOKEN", "test-gateway-token")
os.environ.setdefault("SHOAL_HOME", tempfile.mkdtemp(prefix="shoal-test-"))
# why nobody's port: a test must never talk to a Redis that happens to run here.
os.environ.setdefault("SHOAL_REDIS_URL", "redis://127.0.0.1:1/0")

from controlplane.config.settings import *  # noqa: F403
from controlplane.config.settings import DATABASES, SHOAL_HOME

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# why: each of the thousands of test clients would list all files of the studio before it asks
WHITENOISE_AUTOREFRESH = True
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

for _alias, _database in DATABASES.items():
    if _database["ENGINE"].endswith("sqlite3"):
        # why a file: the in-memory database shares its cache, which knows no waiting for locks.
        _database["TEST"] = {"NAME": str(SHOAL_HOME / f"test-{_alias}.db")}
