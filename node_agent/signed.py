"""A node that runs signed files only: what it was given keys for, whatever it is told to run.

The node has its keys from its own machine (``SHOAL_NODE_TRUSTED_KEYS``), so that a control plane
that was broken into cannot have it run other files. Signed are the files; what a deployment says
beside them could turn them into others, and is held to names that run no file.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from node_agent.failure import ReplicaFailed
from wire.messages import DesiredReplica
from wire.minisign import MinisignError, PublicKey, key_name, public_keys, signature_of, signer
from wire.statement import files_digest, statement

# Numbers and names of devices: no value of theirs has a file opened.
VARIABLES: Final = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    }
)
# What deployments set of the runtime: each ends in a number.
ARGUMENT: Final = re.compile(
    r"(?:--max-queue-wait-ms=|--cache-config=local,size=)[0-9]{1,15}", re.ASCII
)
SIGN_IT: Final = (
    "Sign the version with a key that this node trusts: shoal model sign --name NAME "
    "--version N --key FILE; then deploy again.",
    "The node's keys are in the file that SHOAL_NODE_TRUSTED_KEYS names there.",
)


@dataclass(frozen=True, slots=True)
class SignedOnly:
    """``variables``: those that deployments may set here, beside ``VARIABLES``."""

    keys: tuple[PublicKey, ...]
    variables: frozenset[str] = frozenset()

    def check(self, replica: DesiredReplica) -> None:
        """Raises ReplicaFailed (SignatureInvalid) unless a key of this node signed what would run.

        By the digests of the files: the cache takes no bytes that have another.
        """
        self._check_unsigned_settings(replica)
        digest = _digest(replica)
        told = []
        for text in replica.signatures:
            try:
                signature = signature_of(text)
            except MinisignError as error:
                told.append(f"one cannot be read ({error})")
                continue
            if signer(self.keys, signature, statement(digest), ed25519) is not None:
                return
            name = key_name(signature.key_id)
            known = any(key.key_id == signature.key_id for key in self.keys)
            told.append(f"{name} " + ("signed other files" if known else "is not trusted here"))
        why = "; ".join(told) or "nobody has signed them"
        raise _refused(
            f"No key that this node trusts signed these files: {why}. Their digest is {digest}.",
            SIGN_IT,
        )

    def _check_unsigned_settings(self, replica: DesiredReplica) -> None:
        for name in sorted(replica.environment):
            if name not in VARIABLES and name not in self.variables:
                raise _refused(
                    f"This node runs signed files only, and the variable {name} is not signed: it "
                    "might have others run.",
                    (
                        "Leave it out of the deployment; or, where it does no harm, name it in "
                        "SHOAL_NODE_TRUSTED_VARIABLES on the node.",
                    ),
                )
        for argument in replica.runtime_args:
            if not ARGUMENT.fullmatch(argument):
                raise _refused(
                    f"This node runs signed files only, and the runtime's flag {argument} is not "
                    "signed: it might have others run.",
                    ("Deploy without it, or to a node without SHOAL_NODE_TRUSTED_KEYS.",),
                )


def ed25519(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def keys_in(file: Path) -> tuple[PublicKey, ...]:
    """Raises OSError, and ValueError for what is no list of minisign's public keys."""
    return public_keys(file.read_text(encoding="utf-8"))


def _digest(replica: DesiredReplica) -> str:
    files = ((file.path, file.size, file.sha256) for file in replica.files)
    try:
        return files_digest(files, replica.inline_files)
    except ValueError as error:
        raise _refused(f"The list of files cannot be signed: {error}.", ()) from error


def _refused(message: str, hints: tuple[str, ...]) -> ReplicaFailed:
    return ReplicaFailed("SignatureInvalid", message, hints=hints)
