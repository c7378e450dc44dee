"""The environment is read in the declared rooms only, and every variable is documented."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
READERS = {
    "controlplane/config/env.py",
    "controlplane/config/settings_test.py",
    "controlplane/config/agent_server.py",
    "controlplane/config/http_application.py",
    "controlplane/config/celery.py",
    "controlplane/gateway/settings.py",
    "worker_runtime/config/settings.py",
    "worker_runtime/server.py",
    "node_agent/settings.py",
    "node_agent/launcher/fork_server.py",  # sets what the runtime that it forks reads
    "worker_runtime/backends/python/environment.py",
    "worker_runtime/backends/python/stub/shoal_stub/scoring/model.py",  # sets what scripts read
    "worker_runtime/backends/python/stub/shoal_stub/debugger.py",  # sets what debugpy reads
    "shoal/client/discovery.py",
    "shoal/local/settings.py",
    "shoal/entities/alerting.py",  # variables that files of channels name, with what is secret
    "shoal/dev/background.py",  # hands it to the server of a local deployment
}
VARIABLE = re.compile(r'"(SHOAL_[A-Z_]+)"')


def sources() -> list[Path]:
    packages = ["controlplane", "worker_runtime", "node_agent", "answers", "wire", "shoal"]
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def test_only_the_declared_rooms_read_the_environment() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if re.search(r"os\.environ\b|os\.getenv\b", path.read_text())
    }
    assert readers <= READERS, f"os.environ outside the declared rooms: {sorted(readers - READERS)}"


def test_every_setting_is_documented() -> None:
    documented = (ROOT / "docs" / "settings.md").read_text()
    used = {name for path in sources() for name in VARIABLE.findall(path.read_text())}
    missing = sorted(name for name in used if name not in documented)
    assert not missing, f"not in docs/settings.md: {missing}"
