"""What every replica may read: also what pip needs to make an environment there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node_agent import readable
from node_agent.launcher import landlock
from node_agent.launcher.plan import Plan, dump
from node_agent.sandbox import LAUNCH

READ = """
import sys
for name in sys.argv[1:]:
    try:
        open(name).read()
        print("read", name)
    except PermissionError:
        print("kept", name)
"""


def asked(tmp_path: Path, read: list[str], *names: str) -> list[str]:
    """What a program in the sandbox says of these files, with ``read`` and no more to read."""
    if not landlock.abi():
        pytest.skip("a kernel without Landlock")
    home = tmp_path / "home"
    home.mkdir()
    plan = Plan(
        environment={"PATH": os.environ["PATH"]},
        folder=str(home),
        read=tuple(read),
        write=(str(home),),
        devices=readable.DEVICES,
        namespaces=False,
        network="none",
    )
    done = subprocess.run(
        [*LAUNCH, sys.executable, "-I", "-c", READ, *names],
        input=dump(plan),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


# pip names the system to the index that it asks, and fails where it may not look which one it is.
NAMES_THE_SYSTEM = [
    path for path in ("/etc/debian_version", "/etc/os-release") if Path(path).exists()
]


@pytest.mark.skipif(not NAMES_THE_SYSTEM, reason="a system that does not say which one it is")
def test_a_replica_may_read_which_system_it_is_on(tmp_path: Path) -> None:
    read, _ = readable.programs({})
    names = [*NAMES_THE_SYSTEM, "/etc/shadow"]
    told = asked(tmp_path, read, *names)
    assert told == [*(f"read {name}" for name in NAMES_THE_SYSTEM), "kept /etc/shadow"]


@pytest.fixture
def packages(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose pip takes packages from folders of its own."""
    for folder in ("links", "index/simple", "other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "wheel").write_text("wheel")
    (tmp_path / "ca.pem").write_text("certificate")
    config = tmp_path / "pip.conf"
    config.write_text(
        f"[global]\n"
        f"find-links = {tmp_path}/links\n  {tmp_path}/nowhere\n"
        f"index-url = file://{tmp_path}/index/simple\n"
        f"extra-index-url = https://index.example/simple\n"
        f"cert = {tmp_path}/ca.pem\n"
        f"log = {tmp_path}/other\n"
    )
    return {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": str(config)}


def test_folders_of_which_pip_takes_packages_are_named(
    tmp_path: Path, packages: dict[str, str]
) -> None:
    found = readable.package_folders(packages)
    # what it is configured with on this machine besides comes along
    ours = [Path(path).name for path in found if Path(path).is_relative_to(tmp_path)]
    assert ours == ["ca.pem", "index", "links"]
    assert not [path for path in found if "example" in path]


def test_a_replica_may_read_the_folders_of_which_pip_takes_packages(
    tmp_path: Path, packages: dict[str, str]
) -> None:
    read, _ = readable.programs({})
    names = [f"{tmp_path}/{name}/wheel" for name in ("links", "index/simple", "other")]
    told = asked(tmp_path, [*read, *readable.package_folders(packages)], *names)
    assert told == [f"read {names[0]}", f"read {names[1]}", f"kept {names[2]}"]


def test_of_our_packages_a_replica_may_read_the_runtime_alone(tmp_path: Path) -> None:
    read, _ = readable.programs({})
    packages = ("worker_runtime", "wire", "node_agent", "controlplane", "shoal")
    names = [str(readable.SOURCE / package / "__init__.py") for package in packages]
    told = asked(tmp_path, read, *names)
    assert told == [f"read {names[0]}", *(f"kept {name}" for name in names[1:])]
