"""An environment's conda file as a requirements list for pip, which nodes install."""

from pathlib import Path
from typing import Any

import yaml

from shoal.client.errors import ShoalError
from shoal.entities import Environment
from shoal.entities.loading import resolved
from wire.conda import Requirements, Unmappable, mapped

__all__ = ["NotMapped", "Requirements", "conda_of", "requirements_of"]


class NotMapped(ShoalError):
    """A part of an environment that no list for pip can say."""

    code = "BadArgument"


def requirements_of(environment: Environment | None, base: Path) -> Requirements:
    """Relative paths are relative to ``base``. Raises NotMapped, naming what cannot be mapped."""
    if environment is None:
        return Requirements()
    for name in ("build", "datastore"):
        if getattr(environment, name) is not None:
            what = f"environment.{name} builds an image, and scripts run without one"
            raise NotMapped("Images are not built", what, ["Give conda_file instead."])
    conda = conda_of(environment, base)
    if conda is None:
        if environment.image:
            raise NotMapped(
                "An image alone does not say what a script needs",
                f"environment.image: {environment.image}",
                ["Give environment.conda_file with its packages, or no environment."],
            )
        return Requirements()
    where = base
    if isinstance(environment.conda_file, str):
        where = Path(resolved(environment.conda_file, base)).parent
    try:
        found = mapped(conda, where)
    except Unmappable as error:
        raise NotMapped(error.title, error.detail, list(error.hints)) from error
    if environment.image:
        found.notes.append(
            f"environment.image: {environment.image} is not run, its packages are not there; "
            "what conda_file lists is installed in an environment of its own"
        )
    return found


def conda_of(environment: Environment, base: Path) -> dict[str, Any] | None:
    """What its conda file says, read where it is a path. Raises NotMapped."""
    given = environment.conda_file
    if given is None or isinstance(given, dict):
        return given
    path = resolved(str(given), base)
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise NotMapped(
            "The conda file cannot be read", f"environment.conda_file: {error}"
        ) from error
    except yaml.YAMLError as error:
        raise NotMapped("The conda file is not YAML", f"{path}: {error}") from error
    if not isinstance(values, dict):
        what = f"{path}: expected `dependencies:` with a list, not {type(values).__name__}"
        raise NotMapped("The conda file lists nothing", what)
    return values
