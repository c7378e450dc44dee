"""One setting for Redis, two spellings of a Unix socket."""

import pytest

from controlplane.config import broker


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("unix://u:p%40@/a%20b/r.sock?db=3", "redis+socket://u:p%40@/a%20b/r.sock?virtual_host=3"),
        ("unix:///r.sock", "redis+socket:///r.sock"),
        ("redis://:x@127.0.0.1:6379/0", "redis://:x@127.0.0.1:6379/0"),
        ("rediss://u:x@unix.example:6380/1?db=1", "rediss://u:x@unix.example:6380/1?db=1"),
    ],
)
def test_celery_gets_its_own_spelling(url: str, expected: str) -> None:
    assert broker.for_celery(url) == expected
