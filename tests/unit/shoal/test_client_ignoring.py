"""What .amlignore leaves out, held against what git itself says of the same patterns."""

import os
import subprocess
from pathlib import Path

import pytest

from shoal.client.ignoring import ignored_by
from shoal.client.packing import walked

FILES = (
    "score.py", "notes.txt", "#odd", "!odd", "a b.txt", "trail ", "[x]", "data/a.csv", "data/b.csv",
    "data/keep.csv", "data/deep/a.csv", "src/data/a.csv", "src/build/out.o", "build/out.o",
    "src/build.py", "logs/one/two/x.log", "logs/x.log", "x1", "x2", "xz", "docs/a/b/c.md",
)  # fmt: skip
PATTERNS = (
    "*.csv", "data", "data/", "/data", "data/*", "data/*\n!data/keep.csv", "data\n!data/keep.csv",
    "src/build", "build/", "**/build", "**/a.csv", "data/**", "docs/**/c.md", "logs/**/*.log",
    "# comment\n\n\\#odd", "\\!odd", "a\\ b.txt", "notes.txt   ", "trail\\ ", "x[12]", "x[!1]",
    "x[1-9]", "x?", "\\[x\\]", "*", "*\n!score.py", "/*\n!/src", "*.py\n!score.py", "/", "src/",
    "src/*/out.o", "**", "a**.txt", "x[", "x[^z]", "*/a.csv", "!*", "foo//", "/src/data/",
)  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("patterns", PATTERNS)
def test_patterns_mean_what_they_mean_to_git(tree: Path, patterns: str) -> None:
    (tree / ".gitignore").write_text(patterns + "\n")
    listed = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    told = subprocess.run(
        listed, cwd=tree, capture_output=True, text=True, check=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    ).stdout  # fmt: skip
    _, ignored = ignored_by(tree)
    kept = {name for _, name in walked(tree, ignored) if not name.endswith("/")}
    assert kept == set(filter(None, told.split("\0")))


def test_amlignore_goes_before_gitignore(tmp_path: Path) -> None:
    assert ignored_by(tmp_path)[0] == ""
    (tmp_path / ".gitignore").write_text("a\n")
    (tmp_path / ".amlignore").write_text("b\n")
    name, ignored = ignored_by(tmp_path)
    assert (name, ignored("a", False), ignored("b", False)) == (".amlignore", False, True)
