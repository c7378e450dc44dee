"""A node with keys of its own starts nothing that they did not sign, whatever it is told."""

import dataclasses
import hashlib
from typing import Any

import pytest

from node_agent.failure import ReplicaFailed
from node_agent.signed import SignedOnly
from tests.support.minisign_files import ada, bob, signed, text
from wire.messages import DesiredReplica, FileRef
from wire.minisign import public_keys, signature_of
from wire.statement import files_digest

FILE = FileRef("digits/1/model.onnx", 7, hashlib.sha256(b"weights").hexdigest())
CONFIG = FileRef("digits/config.pbtxt", 20, hashlib.sha256(b"max_batch_size: 8   ").hexdigest())
CODE = FileRef("digits/1/model.py", 9, hashlib.sha256(b"import os").hexdigest())
NODE = SignedOnly(public_keys(text("plain.pub")))


def digest(*files: FileRef, **inline: str) -> str:
    texts = {path.replace("__", "/"): text_ for path, text_ in inline.items()}
    return files_digest(((file.path, file.size, file.sha256) for file in files), texts)


def replica(**changes: Any) -> DesiredReplica:
    """One whose files Ada signed."""
    whole = DesiredReplica(
        replica_id="r1",
        generation=1,
        endpoint="digits",
        deployment="blue",
        files=(FILE, CONFIG),
        models=("digits",),
        signatures=(signed(digest(FILE, CONFIG)),),
    )
    return dataclasses.replace(whole, **changes)


def refusal(wanted: DesiredReplica, node: SignedOnly = NODE) -> str:
    with pytest.raises(ReplicaFailed) as caught:
        node.check(wanted)
    problem = caught.value.problem
    assert problem.code == "SignatureInvalid"
    return problem.message


def test_what_somebody_trusted_signed_may_run() -> None:
    NODE.check(replica())
    NODE.check(replica(files=(CONFIG, FILE)))  # their order says nothing
    made_by_minisign = (text("digits.statement.minisig"),)
    NODE.check(replica(files=(FILE,), signatures=made_by_minisign))
    NODE.check(replica(files=(FILE,), signatures=(text("digits.legacy.minisig"),)))


def test_one_good_signature_among_others_is_enough() -> None:
    good = replica().signatures
    other = signed(digest(FILE, CONFIG), bob())
    NODE.check(replica(signatures=("no signature", other, signed("0" * 64), *good)))


def test_an_edited_configuration_counts_as_the_file_that_it_is() -> None:
    inline = {"digits/config.pbtxt": "max_batch_size: 8   "}  # the signed file's bytes
    NODE.check(replica(files=(FILE,), inline_files=inline))
    NODE.check(replica(inline_files=inline))  # staging leaves the file of that name out


GOOD = signature_of(replica().signatures[0])
OTHER_FILES: dict[str, dict[str, Any]] = {
    "one more file": {"files": (FILE, CONFIG, CODE)},
    "one file less": {"files": (FILE,)},
    "a file twice": {"files": (FILE, FILE, CONFIG)},
    "other bytes": {"files": (dataclasses.replace(FILE, sha256="0" * 64), CONFIG)},
    "another size": {"files": (dataclasses.replace(FILE, size=8), CONFIG)},
    "another name": {"files": (dataclasses.replace(FILE, path="digits/1/model.py"), CONFIG)},
    "a name spelled otherwise": {
        "files": (dataclasses.replace(FILE, path="./digits/1/model.onnx"), CONFIG)
    },
    "an edited configuration": {"inline_files": {"digits/config.pbtxt": 'backend: "python"'}},
    "code as a text": {"inline_files": {"digits/1/model.py": "import os"}},
    "a text in the place of the model": {"inline_files": {"digits/1/model.onnx": "weights!"}},
    "no files": {"files": ()},
}


@pytest.mark.parametrize("changes", OTHER_FILES.values(), ids=OTHER_FILES)
def test_other_files_than_the_signed_do_not_run(changes: dict[str, Any]) -> None:
    assert "11BA528D52290C3C signed other files" in refusal(replica(**changes))


def tampered(**fields: Any) -> tuple[str, ...]:
    return (dataclasses.replace(GOOD, **fields).file(),)


def flipped(raw: bytes) -> bytes:
    return raw[:-1] + bytes([raw[-1] ^ 1])


SIGNATURES: dict[str, tuple[tuple[str, ...], str]] = {
    "none": ((), "nobody has signed them"),
    "a stranger's": ((signed(digest(FILE, CONFIG), bob()),), "is not trusted here"),
    "of other files": ((signed("0" * 64),), "signed other files"),
    "key ID": (tampered(key_id=flipped(GOOD.key_id)), "is not trusted here"),
    "a stranger's under the ID": (
        tampered(signature=bob().sign(b"", file="x").signature),
        "signed other files",
    ),
    "algorithm": (tampered(algorithm=b"Ed"), "signed other files"),
    "signature": (tampered(signature=flipped(GOOD.signature)), "signed other files"),
    "trusted comment": (tampered(trusted_comment="x"), "signed other files"),
    "global": (tampered(global_signature=flipped(GOOD.global_signature)), "signed other files"),
    "no signature": (("x",), "one cannot be read (1 lines"),
}


@pytest.mark.parametrize(("signatures", "told"), SIGNATURES.values(), ids=SIGNATURES)
def test_a_refusal_says_which_signature_is_what(signatures: tuple[str, ...], told: str) -> None:
    message = refusal(replica(signatures=signatures))
    assert told in message
    assert digest(FILE, CONFIG) in message


def test_a_name_that_hides_another_file_is_refused() -> None:
    hiding = FileRef(f"a\0{FILE.size}\0{FILE.sha256}\nb", FILE.size, FILE.sha256)
    assert "has a NUL" in refusal(replica(files=(hiding,)))


def test_trials_are_held_to_it_too() -> None:
    assert "nobody has signed" in refusal(replica(trial=True, signatures=()))


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PYTHONPATH", "PIP_INDEX_URL", "HOME", "OMP_TOOL_LIBRARIES", "MY_MODE"]
)
def test_variables_are_not_signed_and_held_to_names_that_open_no_file(name: str) -> None:
    assert f"the variable {name} is not signed" in refusal(replica(environment={name: "/x"}))
    own = SignedOnly(NODE.keys, frozenset({name}))
    own.check(replica(environment={name: "/x", "CUDA_VISIBLE_DEVICES": "0"}))


@pytest.mark.parametrize(
    "argument",
    [
        "--model-repository=/elsewhere",
        "--backend-config=python,shm-region-prefix-name=x",
        "--max-queue-wait-ms=1\n--model-repository=/elsewhere",
        "--max-queue-wait-ms=x",
        "--max-queue-wait-ms=١",
        "--cache-config=redis,host=elsewhere",
        "--cache-config=local,size=1,path=/elsewhere",
    ],
)
def test_flags_are_not_signed_and_held_to_those_that_are_numbers(argument: str) -> None:
    assert "is not signed" in refusal(replica(runtime_args=(argument,)))
    NODE.check(
        replica(runtime_args=("--max-queue-wait-ms=250", "--cache-config=local,size=1048576"))
    )


def test_a_key_that_the_node_does_not_have_is_none() -> None:
    assert "is not trusted here" in refusal(replica(), SignedOnly(public_keys(bob().public.file())))
    assert ada().public.name in refusal(replica(), SignedOnly((bob().public,)))
