"""New folders of what lies in an upload already: nothing takes the place of anything else."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from controlplane.registry.errors import IngestFailed


def gather(target: Path, moved: Mapping[Path, str], *, shown: str) -> None:
    """Make the folder ``target`` of these, each under its new path below it.

    ``shown`` is the target's path as people know it. Raises IngestFailed, before anything is moved,
    where two would have one name.
    """
    sources = dict[str, Path]()
    for path, new in moved.items():
        if (other := sources.setdefault(new, path)) != path:
            raise name_taken(f"{other.name} and {path.name} would both become {shown}/{new}.", path)
    if target.exists() and target not in moved:
        raise name_taken(f"A folder {shown}/ has to be made, but a file is called so.", target)
    # why a side name: the target may be called like something that moves into it
    aside = target.with_name(free_name(target.parent))
    aside.mkdir()
    for path, new in moved.items():
        place = aside / new
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
    aside.rename(target)


def free_name(*folders: Path) -> str:
    """A short name that nothing in these folders has."""
    names = (f".{number}" for number in count())
    return next(name for name in names if not any((at / name).exists() for at in folders))


def name_taken(message: str, path: Path) -> IngestFailed:
    """What to raise where ``path`` bears a name that something else needs."""
    hint = f"Rename {path.name}, or send the folders as Triton wants them: <model>/1/<file>."
    return IngestFailed(message, code="NameTaken", hints=(hint,))
