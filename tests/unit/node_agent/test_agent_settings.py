"""What the environment means to a node's agent."""

from pathlib import Path

import pytest

from node_agent import machine, settings
from tests.support.minisign_files import text


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("SHOAL_NODE_ADDRESS", "SHOAL_CONTROL_URL", "SHOAL_PUBLIC_URL", "SHOAL_JOIN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize("told", [None, "", "auto"])
def test_beside_its_control_plane_a_node_stays_on_loopback(
    environment: pytest.MonkeyPatch, told: str | None
) -> None:
    environment.setenv("SHOAL_CONTROL_URL", "http://127.0.0.1:8080")
    if told is not None:
        environment.setenv("SHOAL_NODE_ADDRESS", told)
    found = settings.load()
    assert (found.address, found.bind) == ("127.0.0.1", "127.0.0.1")


def test_an_address_that_is_told_is_taken(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("SHOAL_NODE_ADDRESS", "10.1.2.3")
    found = settings.load()
    assert (found.address, found.bind) == ("10.1.2.3", "0.0.0.0")


@pytest.mark.parametrize(
    ("told", "address", "bind"),
    [
        ("localhost", "127.0.0.1", "127.0.0.1"),
        ("gpu-a1.example", "10.9.8.7", "0.0.0.0"),
    ],
)
def test_a_name_is_looked_up_once_when_the_agent_starts(
    environment: pytest.MonkeyPatch, told: str, address: str, bind: str
) -> None:
    """Gateways take addresses only: a name that came through stopped every later change."""
    known = {"localhost": "127.0.0.1", "gpu-a1.example": "10.9.8.7"}

    def looked_up(name: str, *_: object, **__: object) -> list[object]:
        return [(2, 1, 6, "", (known[name], 0))]

    environment.setattr(settings.socket, "getaddrinfo", looked_up)
    environment.setenv("SHOAL_NODE_ADDRESS", told)
    found = settings.load()
    assert (found.address, found.bind) == (address, bind)


@pytest.mark.parametrize(
    "told",
    ["no-such-host.invalid", "not an address", "0.0.0.0", "169.254.169.254", "10.0.0.1:80",
     "ff02::1", "a" * 300],
)  # fmt: skip
def test_what_is_no_address_is_refused_when_the_agent_starts(
    environment: pytest.MonkeyPatch, told: str
) -> None:
    environment.setenv("SHOAL_NODE_ADDRESS", told)
    with pytest.raises(settings.SettingsError, match=r"SHOAL_NODE_ADDRESS='.*expected auto, an IP"):
        settings.load()


def test_a_control_plane_that_cannot_be_found_is_an_error_that_helps(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("SHOAL_CONTROL_URL", "http://no-such-host.invalid:8080")
    with pytest.raises(settings.SettingsError, match=r"no route to http://no-such-host\.invalid"):
        settings.load()


def test_downloads_have_no_limit_unless_it_is_set(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("SHOAL_NODE_DOWNLOAD_LIMIT", raising=False)
    environment.setenv("SHOAL_NODE_RECHECK_LIMIT", "")
    found = settings.load()
    assert (found.download_rate, found.recheck_rate) == (0, 32 << 20)
    environment.setenv("SHOAL_NODE_DOWNLOAD_LIMIT", "50MiB/s")
    assert settings.load().download_rate == 50 << 20


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SHOAL_NODE_DOWNLOAD_LIMIT", "50Mbit", "expected bytes per second, such as 50MiB"),
        ("SHOAL_NODE_RECHECK_LIMIT", "12", "at least 64KiB, or 0 for no limit"),
        ("SHOAL_NODE_RECHECK_INTERVAL_S", "daily", "expected a whole number"),
        ("SHOAL_NODE_TRACES_URL", "collector:4318", "expected an address as http://collector"),
    ],
)
def test_a_bad_value_is_named_with_what_is_expected(
    environment: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    environment.setenv(name, value)
    with pytest.raises(settings.SettingsError, match=f"{name}='{value}': .*{expected}"):
        settings.load()


def test_a_node_runs_whatever_it_is_told_unless_it_was_given_keys(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert settings.load().signed_only is None
    file = tmp_path / "trusted.pub"
    file.write_text(f"# ours\n{text('plain.pub')}{text('password.pub')}")
    environment.setenv("SHOAL_NODE_TRUSTED_KEYS", str(file))
    environment.setenv("SHOAL_NODE_TRUSTED_VARIABLES", "MODE, TOKENIZERS_PARALLELISM")
    found = settings.load().signed_only
    assert found is not None
    assert [key.name for key in found.keys] == ["11BA528D52290C3C", "15AA4AFC311BB6F5"]
    assert found.variables == {"MODE", "TOKENIZERS_PARALLELISM"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        (b"", "no public key"),
        (b"\xff\xfe", "decode"),
        (text("plain.key").encode(), "expected 42"),
    ],
)
def test_keys_that_cannot_be_read_end_the_agent(
    environment: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, told: str
) -> None:
    """Not the check: a node that was given keys must never run without them."""
    file = tmp_path / "trusted.pub"
    if content is not None:
        file.write_bytes(content)
    environment.setenv("SHOAL_NODE_TRUSTED_KEYS", str(file))
    with pytest.raises(settings.SettingsError, match=f"SHOAL_NODE_TRUSTED_KEYS=.*{told}"):
        settings.load()


def test_trusted_variables_without_keys_are_a_mistake(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("SHOAL_NODE_TRUSTED_VARIABLES", "MODE")
    with pytest.raises(settings.SettingsError, match="expected both"):
        settings.load()


def test_shared_memory_is_measured_where_there_is_any(tmp_path: Path) -> None:
    assert machine.shm_bytes(tmp_path / "none") is None
    assert (machine.shm_bytes(tmp_path) or 0) > 0


@pytest.mark.parametrize(
    ("name", "text", "passes"),
    [
        ("PATH", "/usr/bin", True),
        ("CUDA_VISIBLE_DEVICES", "0", True),
        ("NVIDIA_VISIBLE_DEVICES", "all", True),
        ("HTTPS_PROXY", "http://proxy.example:3128", True),
        ("PIP_EXTRA_INDEX_URL", "https://a.example/simple https://b.example/simple", True),
        ("HTTPS_PROXY", "name:password@proxy.example:3128", False),
        ("PIP_EXTRA_INDEX_URL", "https://a.example/simple https://t0ken@b.example/simple", False),
        ("NVIDIA_API_KEY", "nvapi-1", False),
        ("AWS_ROLE_ARN", "arn:1", False),
        ("path", "/usr/bin", False),
        ("PATH_TO_KEY", "/key", False),
        ("XLC_ALL", "C", False),
        ("PIP_PASSWORD", "1", False),
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1", False),
        ("LD_PRELOAD", "/usr/lib/libjemalloc.so.2", False),
        ("SHOAL_REDIS_URL", "redis://:password@127.0.0.1/0", False),
    ],
)
def test_replicas_get_what_is_listed(
    environment: pytest.MonkeyPatch, name: str, text: str, passes: bool
) -> None:
    environment.setenv(name, text)
    environment.delenv("SHOAL_NODE_PASS_VARIABLES", raising=False)
    assert (settings.load().inherited.get(name) == text) is passes


def test_replicas_get_more_by_name(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("LD_PRELOAD", "/usr/lib/libjemalloc.so.2")
    environment.setenv("HF_TOKEN", "1")
    environment.setenv("SHOAL_NODE_PASS_VARIABLES", "LD_PRELOAD, HF_HOME")
    found = settings.load().inherited
    assert found["LD_PRELOAD"] == "/usr/lib/libjemalloc.so.2"
    assert "HF_TOKEN" not in found
    assert "HF_HOME" not in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AWS_*", r"SHOAL_NODE_PASS_VARIABLES: 'AWS_\*' is not the name of a variable"),
        ("A=1", "'A=1' is not the name"),
        ("SHOAL_JOIN_TOKEN", "SHOAL_JOIN_TOKEN is a setting of Shoal itself"),
        ("DJANGO_SETTINGS_MODULE", "is a setting of Shoal itself"),
    ],
)
def test_what_is_no_name_is_not_passed_on(
    environment: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    environment.setenv("SHOAL_NODE_PASS_VARIABLES", text)
    with pytest.raises(settings.SettingsError, match=expected):
        settings.load()


def test_labels_are_pairs(environment: pytest.MonkeyPatch) -> None:
    assert settings.load().labels == {}
    environment.setenv("SHOAL_NODE_LABELS", "pool=gpu-a, zone=eu/1 ,note=")
    assert settings.load().labels == {"pool": "gpu-a", "zone": "eu/1", "note": ""}


@pytest.mark.parametrize("told", ["gpu", "=a", "pool=a,zone", "a=" + 256 * "x"])
def test_what_is_no_label_is_told(environment: pytest.MonkeyPatch, told: str) -> None:
    environment.setenv("SHOAL_NODE_LABELS", told)
    with pytest.raises(settings.SettingsError, match=r"SHOAL_NODE_LABELS: .*NAME=VALUE"):
        settings.load()
