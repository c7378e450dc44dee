"""What a support bundle knows to be secret, and where a log's last lines begin."""

from pathlib import Path

from shoal.cli.support_parts import known_secrets
from shoal.client.discovery import Installation
from shoal.local.home import tail


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
