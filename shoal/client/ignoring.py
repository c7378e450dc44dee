"""What a folder's .amlignore leaves out of it, or else its .gitignore: git's patterns.

`pathspec` reads them: what others read git's patterns with, and held against git by our tests.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

FILES: Final = (".amlignore", ".gitignore")
# Whether a path below the folder, told with slashes, is left out; the second is of folders.
Ignored = Callable[[str, bool], bool]


def ignored_by(folder: Path) -> tuple[str, Ignored]:
    """The file that says it ("" for none), and what it says. A folder that is left out is left out
    with all that is in it."""
    name = next((name for name in FILES if (folder / name).is_file()), "")
    if not name:
        return "", lambda _path, _is_folder: False
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - for who has such a file

    lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
    spec = GitIgnoreSpec.from_lines(lines)
    return name, lambda path, is_folder: spec.match_file(f"{path}/" if is_folder else path)
