"""Unpacking untrusted archives: the good ones arrive whole, every bad trick is refused."""

import io
import json
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.registry.archive import Limits, Refused, safe_path, unpack

LIMITS = Limits(max_bytes=64 * 2**20, max_entries=50, max_ratio=200, room=2**40)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def zipped(path: Path, members: dict[str, bytes], edit: Callable[[zipfile.ZipInfo], None]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            edit(info)
            archive.writestr(info, content)
    return path


def a_zip(path: Path, members: dict[str, bytes]) -> Path:
    return zipped(path, members, lambda info: None)


def a_tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def refusal(archive: Path, target: Path, limits: Limits = LIMITS) -> dict[str, object]:
    with pytest.raises(Refused) as caught:
        unpack(archive, target, limits)
    return caught.value.answer


def test_a_zip_arrives_whole_without_its_junk(tmp_path: Path, target: Path) -> None:
    members = {
        "repo/m/1/model.onnx": b"model",
        "repo/m/config.pbtxt": b"name: 'm'",
        "repo/.git/HEAD": b"ref",
        "__MACOSX/repo/._x": b"x",
        "repo/.DS_Store": b"x",
    }
    done = unpack(a_zip(tmp_path / "a.zip", members), target, LIMITS)
    assert names(target) == ["repo/m/1/model.onnx", "repo/m/config.pbtxt"]
    assert (target / "repo/m/1/model.onnx").read_bytes() == b"model"
    assert done.files == 2
    assert done.warnings == ["Left out: .DS_Store, .git, __MACOSX."]


def test_a_tar_arrives_whole_and_its_modes_are_not_believed(tmp_path: Path, target: Path) -> None:
    info = tarfile.TarInfo("./m/1/model.onnx")
    info.mode = 0o4777
    unpack(a_tar(tmp_path / "a.tar.gz", [(info, b"model")]), target, LIMITS)
    assert names(target) == ["m/1/model.onnx"]
    assert not (target / "m/1/model.onnx").stat().st_mode & (stat.S_ISUID | 0o111)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../evil", "leads out"),
        ("a/../../evil", "leads out"),
        ("/etc/passwd", "absolute"),
        ("C:/evil", "absolute"),
        ("..\\evil", "backslash"),
        ("a\x00b", "control"),
        ("a\nb", "control"),
        ("a/%2e%2e/b", "encoded"),
        ("a%2Fb", "encoded"),
        ("/".join(["d"] * 12) + "/f", "deeper"),
        ("n" * 256, "longer"),
        ("a\udc80b", "not valid text"),
    ],
)
def test_an_unsafe_name_is_refused(name: str, why: str) -> None:
    with pytest.raises(Refused) as caught:
        safe_path(name)
    assert caught.value.answer["code"] == "ArchiveUnsafe"
    assert why in str(caught.value.answer["detail"])


def test_a_zip_cannot_hide_a_name_behind_a_nul(tmp_path: Path, target: Path) -> None:
    archive = a_zip(tmp_path / "a.zip", {"abcdef/evil": b"x"})
    archive.write_bytes(archive.read_bytes().replace(b"abcdef/evil", b"abc\x00ef/evil"))
    assert refusal(archive, target)["code"] == "ArchiveUnsafe"
    assert names(target) == []


@pytest.mark.parametrize("name", ["../evil", "/evil", "a\\evil"])
def test_a_zip_that_leads_out_writes_nothing(tmp_path: Path, target: Path, name: str) -> None:
    assert refusal(a_zip(tmp_path / "a.zip", {name: b"x"}), target)["code"] == "ArchiveUnsafe"
    assert not (tmp_path / "evil").exists()
    assert names(target) == []


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, target: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = kind, "/etc/passwd"
    answer = refusal(a_tar(tmp_path / "a.tgz", [(info, b"")]), target)
    assert "link or a special file" in str(answer["detail"])


def test_a_symlink_in_a_zip_is_refused(tmp_path: Path, target: Path) -> None:
    def as_link(info: zipfile.ZipInfo) -> None:
        info.external_attr = (stat.S_IFLNK | 0o777) << 16

    archive = zipped(tmp_path / "a.zip", {"link": b"/etc/passwd"}, as_link)
    assert refusal(archive, target)["code"] == "ArchiveUnsafe"


@pytest.mark.parametrize(
    "members",
    [
        ["m/Model.onnx", "m/model.onnx"],
        ["M/a", "m/b"],
        ["m/caf\u00e9", "m/cafe\u0301"],
        ["m", "m/a"],
    ],
)
def test_names_that_collide_are_refused(tmp_path: Path, target: Path, members: list[str]) -> None:
    archive = a_zip(tmp_path / "a.zip", dict.fromkeys(members, b"x"))
    assert refusal(archive, target)["code"] == "ArchiveUnsafe"


def test_the_same_name_twice_is_refused(tmp_path: Path, target: Path) -> None:
    twins = [(tarfile.TarInfo("m"), b"first"), (tarfile.TarInfo("m"), b"second")]
    answer = refusal(a_tar(tmp_path / "a.tgz", twins), target)
    assert "appears twice" in str(answer["detail"])


def test_a_bomb_is_noticed_by_its_ratio(tmp_path: Path, target: Path) -> None:
    archive = a_zip(tmp_path / "a.zip", {"zeros": bytes(20 * 2**20)})
    answer = refusal(archive, target)
    assert answer["code"] == "ArchiveBomb"
    assert "200 times" in str(answer["message"])


def test_a_bomb_in_many_files_is_noticed_by_their_sum(tmp_path: Path, target: Path) -> None:
    members = {f"m/{i}": bytes([i % 251]) * 2**20 for i in range(20)}
    archive = a_zip(tmp_path / "a.zip", members)
    answer = refusal(
        archive, target, Limits(max_bytes=5 * 2**20, max_entries=50, max_ratio=10**6, room=2**40)
    )
    assert answer["code"] == "ArchiveBomb"
    assert "over the limit" in str(answer["message"])


def test_too_many_entries_are_refused(tmp_path: Path, target: Path) -> None:
    archive = a_zip(tmp_path / "a.zip", {f"m/{i}": b"" for i in range(51)})
    assert refusal(archive, target)["code"] == "ArchiveBomb"


def test_a_member_without_a_name_is_passed_over(tmp_path: Path, target: Path) -> None:
    path = a_zip(tmp_path / "a.zip", {"": b"x", "m": b"y"})
    assert unpack(path, target, LIMITS).files == 1


def test_a_header_that_is_cut_is_called_damaged(tmp_path: Path, target: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(bytes([0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 3]))  # promises an extra field
    assert refusal(path, target)["code"] == "ArchiveDamaged"


def test_an_archive_that_points_before_its_beginning_is_called_damaged(
    tmp_path: Path, target: Path
) -> None:
    path = a_zip(tmp_path / "a.zip", {"m/1/model.onnx": b"x"})
    data = bytearray(path.read_bytes())
    place = slice(len(data) - 6, len(data) - 2)  # where the directory begins, as the end tells it
    told = int.from_bytes(data[place], "little")
    data[place] = (told + 5).to_bytes(4, "little")
    path.write_bytes(data)
    assert refusal(path, target)["code"] == "ArchiveDamaged"


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_content_that_cannot_be_unpacked_is_called_damaged(
    tmp_path: Path, target: Path, how: int
) -> None:
    """bzip2 says so with an OSError that has no number."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", how) as container:
        container.writestr("m", bytes(range(256)))
    data = bytearray(path.read_bytes())
    start = 30 + len("m") + (9 if how == zipfile.ZIP_LZMA else 0)  # where the packed bytes are
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    assert refusal(path, target)["code"] == "ArchiveDamaged"


@pytest.mark.parametrize("suffix", [".zip", ".tgz"])
def test_a_truncated_archive_is_called_damaged(tmp_path: Path, target: Path, suffix: str) -> None:
    noise = bytes(i * 7 % 256 for i in range(100_000))
    path = tmp_path / f"a{suffix}"
    if suffix == ".zip":
        a_zip(path, {"m/1/model.onnx": noise})
    else:
        a_tar(path, [(tarfile.TarInfo("m"), noise)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert refusal(path, target)["code"] == "ArchiveDamaged"


def test_an_encrypted_zip_is_called_unsupported(tmp_path: Path, target: Path) -> None:
    archive = a_zip(tmp_path / "a.zip", {"m": b"x" * 100})
    content = bytearray(archive.read_bytes())
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    content[local + 6] |= 1
    content[central + 8] |= 1
    archive.write_bytes(content)
    assert refusal(archive, target)["code"] == "ArchiveUnsupported"


def test_a_zip_inside_a_tar_does_not_make_it_a_zip(tmp_path: Path, target: Path) -> None:
    inner = a_zip(tmp_path / "inner.zip", {"x": b"x"}).read_bytes()
    path = tmp_path / "outer.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("inner.zip")
        info.size = len(inner)
        archive.addfile(info, io.BytesIO(inner))
    unpack(path, target, LIMITS)
    assert names(target) == ["inner.zip"]


def test_the_program_answers_in_json(tmp_path: Path, target: Path) -> None:
    archive = a_zip(tmp_path / "a.zip", {"../evil": b"x"})
    command = [sys.executable, "-m", "controlplane.registry.archive", str(archive), str(target)]
    limits = ["--max-bytes", "1000", "--max-entries", "5", "--max-ratio", "200", "--room", "1000"]
    done = subprocess.run([*command, *limits], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["error"]["code"] == "ArchiveUnsafe"
