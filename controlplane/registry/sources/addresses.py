"""What people write to say where a model is, by kind of source. Pure: nobody is asked."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import unquote, urlsplit

from controlplane.core.addresses import url_check
from controlplane.core.errors import Invalid

FIELD: Final = "address"
LONGEST: Final = 2000
EXPECTED: Final = (
    "https://host/path/model.onnx: a model's file, or an archive.",
    "hf://owner/name@revision/path: a repository of a hub; revision and path may be left out.",
    "s3://bucket/path: an object, or all below a prefix.",
    "runs:/RUN_ID/path: an artifact of an MLflow run.",
)
_HUB = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^/@]+))?(?:/(?P<path>.*))?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Kind(StrEnum):
    URL = "url"
    HUB = "hub"
    S3 = "s3"
    MLFLOW = "mlflow"


@dataclass(frozen=True, slots=True)
class Source:
    """``shown`` may be kept and told; ``text`` is the whole, with what may be a secret in it."""

    kind: Kind
    text: str
    shown: str
    name: str  # of the repository, the bucket or the run
    path: str = ""
    revision: str = ""

    @property
    def filename(self) -> str:
        """What it is called until more is known."""
        last = self.path.rstrip("/").rpartition("/")[2]
        return last or self.name.rpartition("/")[2] or self.kind.value


def source_read(text: str) -> Source:
    """Raises Invalid, which does not repeat the text: a part of it may be a secret."""
    text = text.strip()
    scheme = text.partition(":")[0].lower()
    if len(text) > LONGEST or any(one < " " or one == "\x7f" for one in text):
        raise _wrong(f"longer than {LONGEST} characters, or with control characters")
    if scheme in ("http", "https"):
        return _link(text)
    if "@" in text.split("://", 1)[-1].split("/", 1)[0]:
        raise _wrong("it has a name or a password before the host; credentials are settings")
    if scheme == "hf":
        return _hub(text)
    if scheme == "s3":
        return _bucket(text)
    if scheme == "runs":
        return _run(text)
    raise _wrong("its scheme is none of https, hf, s3 and runs")


def _link(text: str) -> Source:
    url_check(text, FIELD, hint=EXPECTED[0])
    parts = urlsplit(text)
    plain = f"{parts.scheme}://{parts.netloc}{parts.path}"
    return Source(Kind.URL, text, plain, parts.hostname or "", unquote(parts.path))


def _hub(text: str) -> Source:
    match = _HUB.fullmatch(text.partition("://")[2])
    if match is None or ".." in match["name"] or not _plain(match["path"] or ""):
        raise _wrong("it names no repository of a hub")
    return Source(Kind.HUB, text, text, match["name"], match["path"] or "", match["revision"] or "")


def _bucket(text: str) -> Source:
    bucket, _, path = text.partition("://")[2].partition("/")
    if not _BUCKET.fullmatch(bucket) or not _plain(path):
        raise _wrong("it names no bucket, or has a query")
    return Source(Kind.S3, text, text, bucket, path)


def _run(text: str) -> Source:
    run, _, path = text.partition(":")[2].lstrip("/").partition("/")
    if not _RUN.fullmatch(run) or not _plain(path):
        raise _wrong("it names no run")
    whole = f"runs:/{run}/{path}" if path else f"runs:/{run}"
    return Source(Kind.MLFLOW, whole, whole, run, path)


def _plain(path: str) -> bool:
    """A path inside of something: no query, and no way out of it."""
    parts = path.split("/")
    return not any(one in path for one in "?#\\") and not {".", ".."} & set(parts)


def _wrong(why: str) -> Invalid:
    return Invalid(f"{FIELD}: {why}. Expected the address of a model.", field=FIELD, hints=EXPECTED)
