"""Repositories are laid out whole, from links, and never outside their folder."""

import hashlib
import os
import stat
from pathlib import Path

import pytest

from node_agent.failure import ReplicaFailed
from node_agent.staging import stage
from wire.messages import DesiredReplica, FileRef


def blob(root: Path, content: bytes) -> FileRef:
    sha256 = hashlib.sha256(content).hexdigest()
    (root / sha256).write_bytes(content)
    return FileRef(path="m/1/model.onnx", size=len(content), sha256=sha256)


def replica(*files: FileRef, **inline: str) -> DesiredReplica:
    return DesiredReplica(
        replica_id="r", generation=1, endpoint="e", deployment="d", files=files, inline_files=inline
    )


def test_files_are_links_and_inline_files_are_their_own(tmp_path: Path) -> None:
    model = blob(tmp_path, b"weights")
    shadowed = FileRef(path="m/config.pbtxt", size=7, sha256=model.sha256)
    repository = tmp_path / "repository"
    wanted = replica(model, shadowed, **{"m/config.pbtxt": "max_batch_size: 4"})

    stage(wanted, blob=tmp_path.joinpath, repository=repository)

    assert (repository / "m/1/model.onnx").samefile(tmp_path / model.sha256)
    assert (repository / "m/config.pbtxt").read_text() == "max_batch_size: 4"
    assert (tmp_path / model.sha256).read_bytes() == b"weights"


def test_a_second_staging_replaces_the_first(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    stage(replica(**{"old/config.pbtxt": ""}), blob=tmp_path.joinpath, repository=repository)
    stage(replica(**{"new/config.pbtxt": ""}), blob=tmp_path.joinpath, repository=repository)
    assert [path.name for path in repository.iterdir()] == ["new"]


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\..\\x", ""])
def test_a_path_that_leaves_the_repository_is_refused(tmp_path: Path, path: str) -> None:
    repository = tmp_path / "node" / "repository"
    with pytest.raises(ReplicaFailed) as caught:
        stage(replica(**{path: "x"}), blob=tmp_path.joinpath, repository=repository)
    assert caught.value.problem.code == "UnsafePath"
    assert list((tmp_path / "node").iterdir()) == []


@pytest.mark.parametrize("path", ["m//1/model.onnx", "m/./1/model.onnx", "./m/1/model.onnx"])
def test_two_names_of_one_file_are_refused(tmp_path: Path, path: str) -> None:
    """The text was written through the link, into the cache, and so into other replicas' models."""
    model = blob(tmp_path, b"weights")
    with pytest.raises(ReplicaFailed) as caught:
        stage(
            replica(model, **{path: "text"}), blob=tmp_path.joinpath, repository=tmp_path / "laid"
        )
    assert caught.value.problem.code == "UnsafePath"
    assert (tmp_path / model.sha256).read_bytes() == b"weights"


def test_whoever_reaches_a_repository_may_read_it(tmp_path: Path) -> None:
    """The agent's umask closes all else; a replica may run as another user."""
    model = blob(tmp_path, b"weights")
    (tmp_path / model.sha256).chmod(0o444)  # as the cache leaves them
    repository = tmp_path / "repository"
    before = os.umask(0o077)
    try:
        wanted = replica(model, **{"m/config.pbtxt": "max_batch_size: 4"})
        stage(wanted, blob=tmp_path.joinpath, repository=repository)
    finally:
        os.umask(before)
    modes = {
        path.relative_to(repository).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in (repository, *repository.rglob("*"))
    }
    assert modes == {
        ".": 0o755, "m": 0o755, "m/1": 0o755, "m/1/model.onnx": 0o444, "m/config.pbtxt": 0o644
    }  # fmt: skip
