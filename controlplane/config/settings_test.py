"""Settings of the test suite: throw-away secrets, fast hashing, all else as in production."""

import os
import tempfile

os.environ.setdefault("SHOAL_SECRET_KEY", "test-" + "x" * 50)
os.environ.setdefault("SHOAL_GATEWAY_TOKEN", "test-gateway-token")
os.environ.setdefault("SHOAL_HOME", tempfile.mkdtemp(prefix="shoal-test-"))

from controlplane.config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
