"""Files that the real minisign made (see README.md beside them), and signatures of ours."""

from pathlib import Path

from shoal.signing.secret_key import SecretKey, secret_key
from wire.statement import statement

FOLDER = Path(__file__).parents[1] / "unit" / "wire" / "minisign"
PASSWORD = "correct horse"


def text(name: str) -> str:
    return (FOLDER / name).read_text()


def ada() -> SecretKey:
    """The one of plain.key and plain.pub."""
    return secret_key(text("plain.key"))


def bob() -> SecretKey:
    """Another one; its public half is not among the files."""
    return SecretKey(key_id=b"bob's id", seed=bytes(range(32)))


def signed(digest: str, key: SecretKey | None = None) -> str:
    """A .minisig file over the statement of files with this digest."""
    return (key or ada()).sign(statement(digest), file="it.statement", now=1_800_000_000).file()
