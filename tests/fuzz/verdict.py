"""The gate against the runtime: an upload on its real way from an archive to a replica's load.

The gate's side: unpacked, arranged, inspected, its answer through JSON; registered with and
without what the inspection proposes, or tried; the kinds that an approval of all of it hands over.
The node's side: the message through the codec, its files staged, the flag parsed, the plan read
and checked. Programs that are processes of their own run in this one; nothing else is left out.
"""

import hashlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.config.settings_test")

import django

django.setup()

from controlplane.registry import archive, inspector, layout  # noqa: E402
from controlplane.registry.code import code_kinds  # noqa: E402
from controlplane.registry.code_state import upload_reasons  # noqa: E402
from controlplane.registry.errors import ConfigInvalid as NotRegistered  # noqa: E402
from controlplane.registry.errors import IngestFailed  # noqa: E402
from controlplane.registry.models import Upload  # noqa: E402
from controlplane.registry.services.code_assessment import texts_assess  # noqa: E402
from controlplane.registry.services.ingest import refuse_bad  # noqa: E402
from controlplane.registry.services.registering import configs_edited  # noqa: E402
from controlplane.registry.types import FileEntry, config_files  # noqa: E402
from node_agent import launch, staging  # noqa: E402
from node_agent.journal import ReplicaFolder  # noqa: E402
from tests.fuzz.finding import Finding  # noqa: E402
from tests.fuzz.verdict_seeds import PLANTED, tarred  # noqa: E402
from wire import codec  # noqa: E402
from wire.messages import DesiredReplica, FileRef  # noqa: E402
from worker_runtime.backends.attempt import Attempt  # noqa: E402
from worker_runtime.config.pairs import allowed_code  # noqa: E402
from worker_runtime.core import loading  # noqa: E402
from worker_runtime.core.loading import LoadingRules  # noqa: E402
from worker_runtime.errors import LoadFailed, RuntimeFault  # noqa: E402
from worker_runtime.inspection.repository import inspect_repository  # noqa: E402
from worker_runtime.inspection.service import answers  # noqa: E402
from worker_runtime.repository.ensembles import is_ensemble  # noqa: E402
from worker_runtime.repository.layout import ModelDirectory, scan  # noqa: E402
from worker_runtime.types import backends  # noqa: E402
from worker_runtime.types.code import FLAG, UNKNOWN, AllowedCode  # noqa: E402
from worker_runtime.types.instances import Machine  # noqa: E402

LONGEST_S = 1.0
LIMITS = archive.Limits(max_bytes=2**22, max_entries=50, max_ratio=200, room=2**22)
SOCKETS = dict.fromkeys(launch.PROTOCOLS, socket.socket())
EVERYTHING = LoadingRules(Machine(cores=2))
KIND_OF = {hashlib.sha256(content).hexdigest(): kind for content, kind in PLANTED}
Reasons = list[Any]
Texts = dict[str, str]


class Child:
    """The inspection's child for texts, asked in lines of JSON as over its pipe."""

    def ask(self, op: str, **parts: Any) -> dict[str, Any]:
        (line,) = answers([json.dumps({"id": 1, "op": op, **parts}) + "\n"])
        answer: dict[str, Any] = json.loads(line)
        return answer


class Chosen(Exception):
    """The runtime would hand the model to a backend now."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec


def _choose(spec: Any) -> Any:
    raise Chosen(spec)


inspector.configs = Child()  # type: ignore[assignment] # all that is asked of it
backends._may_be_there = cache(backends._may_be_there)  # reads what is installed, each time
loading._backend = _choose  # type: ignore[assignment]


def verdict(data: bytes) -> None:
    """Nothing runs on a node that the gate did not name; both answer within a second."""
    # why twice: what is slow once may be an import
    if _judged(data) > LONGEST_S and (took_s := _judged(data)) > LONGEST_S:
        raise Finding(f"{took_s:.1f} s of processor time")


def _judged(data: bytes) -> float:
    """The processor time that it took, in seconds."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as home:
        upload = _uploaded(tarred(data), Path(home))
        if upload is not None:
            for number, (reasons, texts) in enumerate(_ways(upload)):
                _started(upload.manifest, reasons, texts, Path(home) / f"node{number}")
    return time.process_time() - began


class Ready(NamedTuple):
    """An upload that ingest is through with: its row, and its files, without a database."""

    row: Upload
    manifest: list[FileEntry]


def _uploaded(packed: bytes, home: Path) -> Ready | None:
    """A ready upload; None for one that is refused."""
    (home / "packed").write_bytes(packed)
    folder = home / "work"
    folder.mkdir()
    try:
        archive.unpack(home / "packed", folder, LIMITS)
        layout.arrange(folder, "m.tar")
    except (archive.Refused, IngestFailed):
        return None
    answer = json.loads(json.dumps(inspect_repository(folder)))
    inspection: Any = inspector.storable(answer)
    try:
        refuse_bad(inspection)
    except IngestFailed:
        return None
    return Ready(Upload(filename="m.tar", inspection=inspection), _stored(folder, home))


def _stored(folder: Path, home: Path) -> list[FileEntry]:
    """The manifest, as the database gives it back, and blobs beside it."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            (home / digest).write_bytes(content)
            name = path.relative_to(folder).as_posix()
            found.append(FileEntry(path=name, size=len(content), sha256=digest))
    manifest: list[FileEntry] = json.loads(json.dumps(found))
    return manifest


def _ways(upload: Ready) -> Iterator[tuple[Reasons, Texts]]:
    """A trial of the upload, and its registration without and with what is proposed."""
    row = upload.row
    assert row.inspection is not None
    yield upload_reasons(row), {}
    for apply_fixes in (False, True):
        try:
            edits = configs_edited(row.inspection, {}, apply_fixes=apply_fixes)
        except NotRegistered:
            continue
        if edits:
            paths = [entry["path"] for entry in upload.manifest]
            yield upload_reasons(row, texts_assess(edits, paths)), edits


def _started(manifest: list[FileEntry], reasons: Reasons, texts: Texts, folder: Path) -> None:
    """What a node does with it once all that the gate named is approved, and nothing else."""
    inline = config_files(texts)
    sent = DesiredReplica(
        replica_id="r", generation=1, endpoint="e", deployment="d",
        files=tuple(FileRef(**entry) for entry in manifest if entry["path"] not in inline),
        inline_files=inline,
        code=tuple(code_kinds(reasons)),
    )  # fmt: skip
    replica = codec.decode(DesiredReplica, codec.encode(sent))
    staging.stage(replica, blob=lambda digest: folder.parent / digest, repository=folder)
    command = launch.command(("shoal",), replica, ReplicaFolder(folder), SOCKETS)
    (flag,) = (item for item in command if item.startswith(f"{FLAG}="))
    kinds = allowed_code([flag.removeprefix(f"{FLAG}=")])
    assert kinds is not None
    for path in folder.rglob("*"):
        digest = path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in KIND_OF and not kinds & {KIND_OF[digest], UNKNOWN}:
            raise Finding(
                f"{path.relative_to(folder)} is {KIND_OF[digest]}; named: {sorted(kinds)}"
            )
    for directory in scan(folder):
        _loaded(directory, replace(EVERYTHING, code=AllowedCode(kinds)), kinds)


def _loaded(directory: ModelDirectory, rules: LoadingRules, kinds: frozenset[str]) -> None:
    try:
        plan = loading.read_plan(directory, rules)
        versions = plan.versions  # why first: without any, nothing of it is looked at or run
        loading.check_plan(plan, rules)
    except LoadFailed as refused:
        if refused.problem is not None and refused.problem.code == "CodeNotAllowed":
            raise Finding(f"the gate named {sorted(kinds)}: {refused}") from refused
        return
    except (RuntimeFault, OSError, UnicodeDecodeError):
        return
    if is_ensemble(plan.config):
        return
    for version in versions:
        try:
            # why with everything: what is allowed has been asked, now it is about what happens
            loading.load_version(plan, version, EVERYTHING, Attempt())
        except Chosen as chosen:
            if more := _runs(chosen.spec) - kinds:
                raise Finding(f"{sorted(more)} would run; named: {sorted(kinds)}") from chosen
        except (RuntimeFault, OSError, UnicodeDecodeError):
            continue


def _runs(spec: Any) -> set[str]:
    """What a backend does with what it is handed, told from the documentation of each."""
    found = set()
    if spec.config.backend == "python" or spec.shared_code is not None:
        found.add("python")
        if spec.parameters.get("EXECUTION_ENV_PATH"):
            found.add("environment")
        elif any((at / "requirements.txt").is_file() for at in (spec.path, spec.path.parent)):
            found.add("packages")
    if spec.config.backend == "openvino" and spec.parameters.get("CPU_EXTENSION_PATH"):
        found.add("library")
    if spec.config.backend == "onnxruntime" and any(
        spec.config.model_operations.op_library_filename
    ):
        found.add("library")
    return found
