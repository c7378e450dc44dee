"""What a support bundle knows to be secret, and where a log's last lines begin."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from shoal.cli import support_parts
from shoal.cli.scrubbing import Scrubber
from shoal.cli.support_parts import Missing, known_secrets, parts
from shoal.client.discovery import Installation
from shoal.local.home import tail
from tests.support.quiet_handler import QuietHandler


@pytest.fixture
def sign_in_page() -> Iterator[str]:
    """The address of a proxy that answers whatever is asked with a page for people."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.answer(200, b"<html>Sign in</html>")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_who_answers_may_be_no_control_plane(tmp_path: Path, sign_in_page: str) -> None:
    (tmp_path / "secrets").mkdir()
    found = parts(tmp_path, {"SHOAL_URL": sign_in_page, "SHOAL_TOKEN": "t"})
    assert next(found) is not None, "it goes on with what this machine knows"


def test_a_database_that_says_nothing_costs_its_own_part_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support_parts, "FACTS_S", 0.01)
    found = support_parts.local_facts(tmp_path, {}, Scrubber())
    assert found == Missing("local/facts.json", "no answer within 0.01 s")


def test_every_secret_that_lies_open_to_the_command_is_known(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "secrets").mkdir(parents=True)
    (home / "secrets" / "redis_password").write_text("of-the-home\n")
    (tmp_path / "given").write_text("of-a-file\n")
    environment = {
        "SHOAL_GATEWAY_TOKEN_FILE": str(tmp_path / "given"),
        "SHOAL_SECRET_KEY_FILE": str(tmp_path / "absent"),
        "SHOAL_OIDC_CLIENT_SECRET": "of-a-variable",
        "SHOAL_AUDIT_WEBHOOK": "https://chat.test/in/abcdef",
        "SHOAL_DATABASE_URL": "postgresql://shoal:p%40ss-word@db/shoal",
        "SHOAL_REDIS_URL": "redis://:un/quoted@redis:6379",
        "POSTGRES_PASSWORD": "of-compose",
        "HTTPS_PROXY": "http://me:of-a-proxy@proxy.test:3128",
        "SHOAL_LOG_LEVEL": "INFO",
        "BROKEN": "https://[",
    }
    found = {
        text.strip()
        for text in known_secrets(home, environment, Installation("https://shoal.test", "mine"))
    }
    assert found >= {
        "mine", "of-the-home", "of-a-file", "of-a-variable", "https://chat.test/in/abcdef",
        "p%40ss-word", "p@ss-word", "un/quoted", "of-compose", "of-a-proxy",
    }  # fmt: skip
    assert "INFO" not in found


def test_the_last_lines_of_a_log_are_whole(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("x" * 100 + " password=swordfish\nsecond\nthird\n")
    assert tail(log, most_bytes=len("fish\nsecond\nthird\n")) == "second\nthird"
    assert tail(log, most_bytes=len("second\nthird\n")) == "second\nthird"
    assert tail(log).startswith("xxx")
    assert tail(log, 1) == "third"
