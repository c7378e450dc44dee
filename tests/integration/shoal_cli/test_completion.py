"""Completion in the shells themselves: their script is loaded, and what they offer is read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# What each shell is told to do: load our script, then say what it would complete.
BASH = """
eval "$(shoal completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shoal_completion shoal
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FISH = """
shoal completion fish | source
complete -C "{line}" | string split -f1 \\t
"""
ZSH = """
autoload -Uz compinit; compinit -u -D
compdef() {{ :; }}
compadd() {{ print -l -- "${{(@P)@[-1]}}"; }}
_describe() {{ local -a found=("${{(@P)2}}" "${{(@P)3}}"); print -l -- "${{found[@]%%:*}}"; }}
eval "$(shoal completion zsh)"
words=({words}); CURRENT=$#words; compstate=()
_shoal_completion
"""
CASES = [
    ("shoal online-d", {"online-deployment"}),
    ("shoal online-endpoint get", {"get-credentials"}),
    ("shoal completion z", {"zsh"}),
    ("shoal model create --na", {"--name"}),
    ("shoal logs --fo", {"--follow"}),
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """With the `shoal` of this interpreter first."""
    program = tmp_path / "shoal"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m shoal "$@"\n')
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def offered(shell: list[str], script: str, path: str, home: Path) -> set[str]:
    done = subprocess.run(
        [*shell, script],
        env={**os.environ, "PATH": path, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stderr, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_bash(path: str, tmp_path: Path, line: str, expected: set[str]) -> None:
    assert offered(["bash", "-c"], BASH.format(words=line), path, tmp_path) == expected


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
@pytest.mark.parametrize(("line", "expected"), CASES)
def test_fish(path: str, tmp_path: Path, line: str, expected: set[str]) -> None:
    assert offered(["fish", "-c"], FISH.format(line=line), path, tmp_path) == expected


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@pytest.mark.parametrize(("line", "expected"), CASES)
def test_zsh(path: str, tmp_path: Path, line: str, expected: set[str]) -> None:
    assert offered(["zsh", "-fc"], ZSH.format(words=line), path, tmp_path) == expected
