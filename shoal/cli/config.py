"""``shoal config``: config.pbtxt files looked at without deploying anything."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_rows


@click.group()
def config() -> None:
    """Check and explain config.pbtxt files."""


_file = click.argument("file", type=click.Path(exists=True, path_type=Path))
_against = click.option(
    "--model", "-m", metavar="NAME[:VERSION]", help="Check against this registered model's graph."
)


@config.command(short_help="Say what is wrong in a config.pbtxt, and where.")
@_file
@_against
@output_option
def lint(file: Path, model: str | None, output: str) -> int:
    """Say what is wrong with a config.pbtxt, where, and how to put it right.

    FILE is the file, or the model's folder. Exit code 1 if something is wrong.
    """
    answers = {path: _validate(path, model) for path in _files(file)}
    rows = [
        {"file": str(path), **problem}
        for path, answer in answers.items()
        for problem in answer["problems"]
    ]
    emit(rows, output, lambda: _print(rows))
    return 1 if any(row["severity"] == "error" for row in rows) else 0


@config.command()
@_file
@click.option("--write", "-w", is_flag=True, help="Rewrite the file instead of printing.")
@_against
def fmt(file: Path, write: bool, model: str | None) -> int:
    """Put the fixes that `lint` knows into the file's text."""
    from shoal.cli.report import note

    failed = False
    for path in _files(file):
        text = path.read_text(encoding="utf-8")
        for _ in range(20):  # each fix may lay the next one open
            answer = _validate(path, model, text)
            fix = next((item["fix"] for item in answer["problems"] if item.get("fix")), None)
            if fix is None or fix["text"] == text:
                break
            note(f"{path}: {fix['label']}")
            text = fix["text"]
        failed |= not _validate(path, model, text)["ok"]
        if write:
            path.write_text(text, encoding="utf-8")
        else:
            click.echo(text, nl=not text.endswith("\n"))
    return 1 if failed else 0


@config.command(short_help="Print the configuration as it would be in effect.")
@_file
@_against
@output_option
def explain(file: Path, model: str | None, output: str) -> int:
    """Print the configuration as it would be in effect: completed, with all defaults."""
    (path, *more) = _files(file)
    if more:
        raise click.UsageError("Give one file.")
    answer = _validate(path, model)
    if not answer["ok"]:
        _print([{"file": str(path), **problem} for problem in answer["problems"]])
        return 1
    emit(answer["config"], output, lambda: click.echo(answer["effective"] or _text(answer)))
    return 0


def _text(answer: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(answer["config"], sort_keys=False))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(path.rglob("config.pbtxt"))
    if not found:
        raise click.UsageError(f"There is no config.pbtxt in {path}.")
    return found


def _validate(path: Path, model: str | None, text: str | None = None) -> dict[str, Any]:
    from shoal.client import Client

    body = {
        "text": path.read_text(encoding="utf-8") if text is None else text,
        "repo_model": path.resolve().parent.name,
    }
    if model:
        name, _, version = model.partition(":")
        body |= {"model": name, "version": version or "latest"}
    with Client() as client:
        return client.validate_config(body)


def _print(rows: list[dict[str, Any]]) -> None:
    columns = {
        "WHERE": lambda row: f"{row['file']}:{row['line'] or 1}",
        "": lambda row: row["severity"],
        "CODE": lambda row: row["code"],
        "PROBLEM": lambda row: " ".join(filter(None, (row["message"], row["hint"]))),
    }
    print_rows(rows, columns, "Nothing is wrong.")
