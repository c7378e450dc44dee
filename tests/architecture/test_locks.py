"""What is installed is in a lock file, whole, with hashes; lists and locks say the same."""

import ast
import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))
LISTS = sorted(path.stem for path in ROOT.glob("requirements*.txt"))
BLOCK = re.compile(r"^(\S.*?)(?: \\\n((?:    .*\n)+)|\n)", re.MULTILINE)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
STUDIO = json.loads((ROOT / "frontend" / "package-lock.json").read_text())["packages"]


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """What a lock says: requirements, and the hashes of their files."""
    text = re.sub(r"^#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)
    found = [(Requirement(head), rest.split()) for head, rest in BLOCK.findall(text)]
    assert sum(len(hashes) + 1 for _, hashes in found) > len(found)
    return found


def listed(name: str) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def versions(*names: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for requirement, _ in (one for name in names for one in locked(name)):
        version = str(requirement.specifier).removeprefix("==")
        found.setdefault(canonicalize_name(requirement.name), set()).add(version)
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_has_one_version_and_hashes_and_no_address(lock: str) -> None:
    for requirement, hashes in locked(lock):
        assert re.fullmatch(r"==[^,*]+", str(requirement.specifier)), requirement
        assert not requirement.url
        words = [word for word in hashes if word != "\\"]
        assert words
        for word in words:
            assert re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", word), (requirement, word)
    assert "://" not in (ROOT / lock).read_text()


@pytest.mark.parametrize("name", LISTS)
def test_a_lock_has_what_its_list_says(name: str) -> None:
    # requirements-dev.lock goes on where requirements.lock ends
    beside = {"requirements": "requirements-cuda.lock", "requirements-dev": "requirements.lock"}
    known = versions(f"{name}.lock", *([beside[name]] if name in beside else []))
    for requirement in listed(f"{name}.txt"):
        wanted = str(requirement.specifier).removeprefix("==")
        assert wanted in known.get(canonicalize_name(requirement.name), ()), (
            f"{requirement} is not in {name}.lock: make lock"
        )


def test_what_packages_need_is_in_the_locks() -> None:
    """pip is told --no-deps, so that a lock with a gap would be an installation with one."""
    known = versions("requirements.lock", "requirements-cuda.lock", "requirements-dev.lock")
    waiting = [*listed("requirements.txt"), *listed("requirements-dev.txt")]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(wanted.name)
        assert any(wanted.specifier.contains(v, prereleases=True) for v in known.get(name, ())), (
            f"{wanted} is in no lock: make lock"
        )
        for extra in {"", *wanted.extras} - {
            extra for seen_name, extra in seen if seen_name == name
        }:
            seen.add((name, extra))
            waiting += _needs(name, extra)
    assert len({name for name, _ in seen}) > 150  # it did walk


def _needs(name: str, extra: str) -> list[Requirement]:
    found = []
    for text in metadata.requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            requirement.marker = None
            found.append(requirement)
    return found


def test_torch_is_the_same_for_cpus_and_for_cuda() -> None:
    cpu, cuda = versions("requirements-cpu.lock"), versions("requirements-cuda.lock")
    assert cpu == {"torch": {f"{version}+cpu" for version in cuda["torch"]}}
    assert {"cuda-toolkit", "nvidia-cudnn-cu13", "triton"} <= cuda.keys()
    rest = versions("requirements.lock")
    assert "nvidia-ml-py" in rest
    assert not cuda.keys() & rest.keys()


def test_nothing_is_installed_past_the_locks() -> None:
    places = [ROOT / "Makefile", *(ROOT / "deploy").iterdir(), *(ROOT / ".ci").iterdir()]
    lines = [line for path in places if path.is_file() for line in path.read_text().splitlines()]
    installs = [
        line for line in lines if re.search(r"pip\b.* install |\bnpm (i|install|ci)\b", line)
    ]
    assert len(installs) >= 4
    for line in installs:
        assert re.search(
            r"--require-hashes --no-deps|--no-deps --no-build-isolation -e \.|npm ci ", line
        ), line


def test_the_studio_is_locked_for_every_platform() -> None:
    names = {path.rpartition("node_modules/")[2] for path in STUDIO}
    for path, package in STUDIO.items():
        assert "resolved" not in package, f"{path} names a registry"
        assert not path or package["integrity"].startswith("sha512-"), path
        # npm ci refuses a lock that lacks one of them
        missing = package.get("optionalDependencies", {}).keys() - names
        assert not missing, f"{path} may need {missing}"


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_is_met_by_what_the_locks_install(extra: str) -> None:
    known = versions("requirements.lock", "requirements-cuda.lock", "requirements-dev.lock")
    for wanted in map(Requirement, EXTRAS[extra]):
        found = known.get(canonicalize_name(wanted.name), set())
        assert found or extra in ("tensorflow", "tensorrt"), f"{wanted} is in no lock"
        assert all(wanted.specifier.contains(version) for version in found), (wanted, found)


def test_the_runtime_declares_what_it_imports() -> None:
    """Also where it imports on use, which nobody sees in an environment without a GPU."""
    declared = {
        canonicalize_name(Requirement(one).name) for extra in EXTRAS.values() for one in extra
    }
    installed = metadata.packages_distributions()
    for module, places in imported(ROOT / "worker_runtime").items():
        found = {canonicalize_name(name) for name in installed.get(module, [module])}
        assert found & declared, (
            f"{places[0]} imports {module}, which no extra of pyproject.toml has"
        )


def imported(folder: Path) -> dict[str, list[str]]:
    """Modules of others by their first name, and the files that import them."""
    found: dict[str, list[str]] = {}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in {name.partition(".")[0] for name in names}:
                found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    ours = {folder.name, "shoal_stub", *sys.stdlib_module_names}
    return {name: places for name, places in found.items() if name not in ours}


def test_onnx_runtime_takes_the_libraries_of_cuda_that_pytorch_brings() -> None:
    """So that an environment has them once, and no machine needs a toolkit."""
    brought = versions("requirements-cuda.lock")
    wanted = [Requirement(line) for line in metadata.requires("onnxruntime-gpu") or ()]
    of_cuda = [
        requirement
        for requirement in wanted
        if requirement.marker
        and any(requirement.marker.evaluate({"extra": extra}) for extra in ("cuda", "cudnn"))
        and not requirement.marker.evaluate({"extra": ""})
    ]
    assert {item.name for item in of_cuda} >= {"nvidia-cuda-runtime", "nvidia-cudnn-cu13"}
    for requirement in of_cuda:
        (version,) = brought[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement
