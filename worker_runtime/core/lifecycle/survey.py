"""A look at the repositories: what is there, what has changed, what cannot be read. Blocking."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from worker_runtime.core.lifecycle.records import Known
from worker_runtime.core.loading import LoadingRules, read_plan
from worker_runtime.errors import (
    AlreadyExists,
    EnsembleInvalid,
    Internal,
    InvalidArgument,
    RuntimeFault,
)
from worker_runtime.repository.agents import check_files
from worker_runtime.repository.ensembles import composing
from worker_runtime.repository.fingerprint import Fingerprint, fingerprint
from worker_runtime.repository.layout import ModelDirectory, localise, model_names, read_model
from worker_runtime.types.repository import LoadOverride, key_of, name_of, namespace_of

logger = logging.getLogger(__name__)

DUPLICATE = "not unique across all model repositories"
_SETTLE_S = 0.25


class Findings(Struct):
    """By model: ``changed`` ones to load, ``unchanged``, ``gone``, and why others ``failed``.

    ``refused`` are those of them that are ensembles with a wrong configuration.
    """

    changed: dict[str, Known] = field(default_factory=dict)
    unchanged: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)


class Surveyor:
    """``settle_s``: how long a change must lie still in poll mode before it counts.

    With ``namespacing`` models are told apart by their repositories, too: every name below is a
    key of `types.repository` then.
    """

    def __init__(
        self,
        repositories: Sequence[Path],
        rules: LoadingRules,
        config_name: str = "",
        settle_s: float = _SETTLE_S,
        *,
        namespacing: bool = False,
    ) -> None:
        self._repositories = tuple(repositories)
        self._renamed: dict[Path, str] = {}  # models by their folders
        self._rules = rules
        self._config_name = config_name
        self._settle_s = settle_s
        self._namespacing = namespacing

    def register(self, repository: Path, names: Mapping[str, str]) -> None:
        """Look there, too, at folders that are models of other ``names``.

        Raises InvalidArgument or AlreadyExists.
        """
        if not repository.is_dir():
            raise InvalidArgument(f"failed to register '{repository}', repository not found")
        if repository in self._repositories:
            raise AlreadyExists(f"model repository '{repository}' has already been registered")
        for name in names.values():
            if name in self._renamed.values():
                raise AlreadyExists(
                    f"failed to register '{name}', there is a conflicting mapping for '{name}'"
                )
        # why anew: a thread may be looking.
        renamed = {repository / folder: name for folder, name in names.items()}
        self._renamed = {**self._renamed, **renamed}
        self._repositories = (*self._repositories, repository)

    def unregister(self, repository: Path) -> None:
        """Raises InvalidArgument for one that was not registered."""
        if repository not in self._repositories:
            raise InvalidArgument(f"failed to unregister '{repository}', repository not found")
        self._repositories = tuple(root for root in self._repositories if root != repository)
        self._renamed = {
            path: name for path, name in self._renamed.items() if path.parent != repository
        }

    def check(self) -> None:
        """Raises InvalidArgument or Internal for repositories that cannot be used at all."""
        for root in self._repositories:
            scheme = str(root).partition(":/")[0]
            if scheme in {"s3", "gs", "as"}:
                raise InvalidArgument(
                    f"model repository '{scheme}://{str(root)[len(scheme) + 2 :].lstrip('/')}' is "
                    "a remote one: only local directories are served here, copy it to one first"
                )
            if not root.exists():
                raise Internal(f"failed to stat file {root}")
            if not root.is_dir():
                raise InvalidArgument("repository path is not a valid directory")

    def paths(self) -> dict[str, list[Path]]:
        """Every model directory by name. A repository that cannot be read raises OSError."""
        found: dict[str, list[Path]] = {}
        for root in self._repositories:
            for folder in model_names(root):
                name = self._renamed.get(root / folder, folder)
                found.setdefault(self._key(root, name), []).append(root / folder)
        return found

    def _key(self, root: Path, name: str) -> str:
        return key_of(name, str(root)) if self._namespacing else name

    def _places(self, name: str) -> dict[str, list[Path]]:
        """Where a model of this name lies; one entry without places when it lies nowhere."""
        inside = "/" not in name and name not in {"", ".", ".."}
        found: dict[str, list[Path]] = {}
        for path, other in self._renamed.items():
            if other == name and path.exists():
                found.setdefault(self._key(path.parent, name), []).append(path)
        for root in self._repositories if inside else ():
            if (root / name).exists() and root / name not in self._renamed:
                found.setdefault(self._key(root, name), []).append(root / name)
        return found or {name: []}

    def named(
        self, names: Mapping[str, LoadOverride | None], known: Mapping[str, Known]
    ) -> Findings:
        """Look at ``names``, and at everything that the ensembles among them are made of."""
        findings = Findings()
        done: set[str] = set()
        todo = dict(names)
        while todo:
            name, override = todo.popitem()
            done.add(name)
            for key, places in self._places(name).items():
                before = known.get(key)
                self._examine(key, places, override, before, findings)
                current = findings.changed.get(key, before)
                if key in findings.changed:
                    findings.changed[key].explicit = name in names
                for part in composing(current.plan.config) if current is not None else ():
                    if part not in done:
                        todo.setdefault(part, None)
        return findings

    def everything(self, known: Mapping[str, Known], *, settled: bool = False) -> Findings:
        """Look at all repositories; ``settled``: leave alone what is being written just now."""
        try:
            paths = self.paths()
        except OSError as error:
            logger.error("failed to poll model repository: %s", error)
            return Findings(unchanged=set(known), failed={"": str(error)})
        findings = Findings()
        for name, places in sorted(paths.items()):
            self._examine(name, places, None, known.get(name), findings)
            if len(places) > 1:
                findings.gone.add(name)
                findings.unchanged.discard(name)
        findings.gone |= set(known) - set(paths)
        if settled and findings.changed:
            self._leave_moving_ones(findings, known)
        return findings

    def _leave_moving_ones(self, findings: Findings, known: Mapping[str, Known]) -> None:
        time.sleep(self._settle_s)
        for name, found in list(findings.changed.items()):
            directory = found.plan.directory
            if fingerprint(directory.path, directory.config_path) != found.seen:
                logger.info("model '%s' is still being written: it waits", name)
                del findings.changed[name]
                if name in known:
                    findings.unchanged.add(name)

    def _examine(
        self,
        name: str,
        places: Sequence[Path],
        override: LoadOverride | None,
        before: Known | None,
        findings: Findings,
    ) -> None:
        try:
            found = self._look(name, places, override, before)
        # why so wide: one bad model must never end the others.
        except Exception as error:
            if not isinstance(error, RuntimeFault | OSError | UnicodeDecodeError):
                logger.exception("looking at model '%s' failed", name)
            findings.failed[name] = str(error) or type(error).__name__
            if isinstance(error, EnsembleInvalid):
                findings.refused.add(name)
            where = (
                "failed to poll model" if len(places) != 1 else "Poll failed for model directory"
            )
            logger.error("%s '%s': %s", where, name, findings.failed[name])
            found = None
        if found is not None:
            findings.changed[name] = found
        elif before is not None:
            findings.unchanged.add(name)

    def _look(
        self,
        name: str,
        places: Sequence[Path],
        override: LoadOverride | None,
        before: Known | None,
    ) -> Known | None:
        """The model as it is now, None when it is as ``before``. Raises RuntimeFault, OSError."""
        last = before.loaded_from if before is not None else None
        if override and override.files:
            directory = _localised(name_of(name), override)
            plan = read_plan(directory, self._rules, override)
            seen = fingerprint(directory.path, None).overridden()
            return Known(replace(plan, seen=seen), loaded_from=last)
        if not places:
            raise InvalidArgument("model not found in any model repository.")
        if len(places) > 1:
            raise InvalidArgument(DUPLICATE)
        directory = read_model(places[0], self._config_name)
        if places[0] in self._renamed:
            directory = replace(directory, name=name_of(name), renamed=True)
        seen = fingerprint(directory.path, directory.config_path)
        if override:
            seen = seen.overridden()
        elif seen == last:
            return None
        for warning in directory.warnings:
            logger.warning("model '%s': %s", name, warning)
        plan = read_plan(directory, self._rules, override, namespace_of(name))
        check_files(plan.config, directory.path)
        return Known(replace(plan, seen=seen), loaded_from=last)


def touched(before: Fingerprint | None, now: Fingerprint, version: int) -> bool:
    """Files of a version are others than those it was loaded from."""
    return before is None or before.version_changed(now, version)


def _localised(name: str, override: LoadOverride) -> ModelDirectory:
    place = localise(override)
    found = read_model(place.path)
    return ModelDirectory(name, found.path, found.versions, None, found.warnings, keep=place)
