"""Files of the real minisign are read and verified; whatever else is in them is refused."""

import base64
import dataclasses
import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.signing.statements import ed25519
from tests.support.minisign_files import ada, bob, text
from wire.minisign import (
    LONGEST,
    MinisignError,
    PublicKey,
    Signature,
    public_keys,
    signature_of,
    signer,
)
from wire.statement import files_digest, statement

STATEMENT = text("digits.statement").encode()
GOOD = text("digits.statement.minisig")
KEYS = public_keys(text("plain.pub"))
FILE = ("digits/1/model.onnx", 7, hashlib.sha256(b"weights").hexdigest())


def made_by(text_: str, data: bytes = STATEMENT, keys: tuple[PublicKey, ...] = KEYS) -> str:
    found = signer(keys, signature_of(text_), data, ed25519)
    return found.name if found else "nobody"


@pytest.mark.parametrize("name", ["digits.statement.minisig", "digits.legacy.minisig"])
def test_both_forms_of_minisign_hold(name: str) -> None:
    assert made_by(text(name)) == "11BA528D52290C3C"
    assert signature_of(text(name)).trusted_comment == "reviewed by ada"


def test_files_are_written_as_minisign_writes_them() -> None:
    assert signature_of(GOOD).file() == GOOD
    assert KEYS[0].file() == text("plain.pub")


def test_of_several_keys_the_one_that_signed_is_told() -> None:
    both = public_keys(f"# trusted here\n\n{text('plain.pub')}{text('password.pub')}")
    assert made_by(text("digits.password.minisig"), keys=both) == "15AA4AFC311BB6F5"
    assert made_by(GOOD, keys=both) == "11BA528D52290C3C"
    assert made_by(text("digits.password.minisig")) == "nobody"


def test_a_key_alone_on_its_line_is_one_too() -> None:
    assert public_keys(text("plain.pub").splitlines()[1]) == (
        dataclasses.replace(KEYS[0], comment=""),
    )


def changed(**fields: object) -> str:
    return dataclasses.replace(signature_of(GOOD), **fields).file()  # type: ignore[arg-type]


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


S: Signature = signature_of(GOOD)
ORDER = 2**252 + 27742317777372353535851937790883648493
RAISED = (int.from_bytes(S.signature[32:], "little") + ORDER).to_bytes(32, "little")
TAMPERED = {
    "key ID": changed(key_id=flipped(S.key_id, 0)),
    "algorithm": changed(algorithm=b"Ed"),
    "signature, first half": changed(signature=flipped(S.signature, 0)),
    "signature, second half": changed(signature=flipped(S.signature, 40)),
    "signature, its second half raised by the group's order": changed(
        signature=S.signature[:32] + RAISED
    ),
    "signature of nothing": changed(signature=bytes(64)),
    "trusted comment": changed(trusted_comment="reviewed by eve"),
    "trusted comment, one space more": changed(trusted_comment="reviewed by ada "),
    "global signature": changed(global_signature=flipped(S.global_signature, 9)),
    "global signature for the signature": changed(signature=S.global_signature),
    "signature for the global one": changed(global_signature=S.signature),
    "comment of another signature": changed(
        trusted_comment=signature_of(text("digits.password.minisig")).trusted_comment,
        global_signature=signature_of(text("digits.password.minisig")).global_signature,
    ),
}


@pytest.mark.parametrize("text_", TAMPERED.values(), ids=TAMPERED)
def test_one_changed_byte_and_nobody_signed(text_: str) -> None:
    assert made_by(text_) == "nobody"


def test_the_legacy_form_does_not_pass_for_the_other() -> None:
    legacy = signature_of(text("digits.legacy.minisig"))
    assert made_by(dataclasses.replace(legacy, algorithm=b"ED").file()) == "nobody"


@given(st.integers(0, len(STATEMENT) - 1), st.integers(1, 255))
def test_no_byte_of_the_statement_may_change(at: int, by: int) -> None:
    other = STATEMENT[:at] + bytes([STATEMENT[at] ^ by]) + STATEMENT[at + 1 :]
    assert made_by(GOOD, other) == "nobody"


def test_an_id_alone_is_no_key() -> None:
    forged = PublicKey(KEYS[0].key_id, bob().public.public)
    assert made_by(GOOD, keys=(forged,)) == "nobody"
    assert made_by(GOOD, keys=(forged, *KEYS)) == KEYS[0].name


LINES = GOOD.splitlines()
UNREADABLE: dict[str, tuple[str, str]] = {
    "nothing": ("", "1 lines"),
    "a line less": ("\n".join(LINES[:3]), "3 lines"),
    "a line more": (GOOD + "untrusted comment: more\n", "5 lines"),
    "another algorithm": (changed(algorithm=b"EX"), "b'EX'"),
    "a key's algorithm in lower case": (changed(algorithm=b"eD"), "b'eD'"),
    "a byte less": (changed(signature=S.signature[:-1]), "73 bytes"),
    "a byte more in the last line": (changed(global_signature=S.global_signature + b"x"), "65"),
    "no Base64": (GOOD.replace(LINES[1], "!" * len(LINES[1])), "not Base64"),
    "spaces in Base64": (GOOD.replace(LINES[1], LINES[1][:8] + " " + LINES[1][8:]), "line 2"),
    "Base64 spelled otherwise": (
        GOOD.replace(LINES[3], base64.b64encode(S.global_signature).decode()[:-3] + "R=="),
        "line 4",
    ),
    "no untrusted comment": (GOOD.replace("untrusted comment", "comment"), "line 1"),
    "no trusted comment": (GOOD.replace("\ntrusted comment", "\nuntrusted comment"), "line 3"),
    "escape sequences": (changed(trusted_comment="\x1b[2Jsigned by root"), "line 3"),
    "a text turned around": (changed(trusted_comment="\u202eada"), "line 3"),
    "a line feed of another kind": (changed(trusted_comment="ada\u2028"), "line 3"),
    "far too long": (changed(trusted_comment="x" * LONGEST), "at most 16384"),
}


@pytest.mark.parametrize(("text_", "told"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_signature_says_where(text_: str, told: str) -> None:
    with pytest.raises(MinisignError, match=told):
        signature_of(text_)


@pytest.mark.parametrize(
    ("text_", "told"),
    [
        ("", "no public key"),
        ("untrusted comment: minisign public key\n", "no public key"),
        (text("plain.key"), "line 2, a public key: 158 bytes, expected 42"),
        (GOOD, "line 2, a public key: 74 bytes"),
        (base64.b64encode(b"ED" + bytes(40)).decode(), "no Ed25519 key"),
        ("ssh-ed25519 AAAA ada@host", "not Base64"),
        (f"untrusted comment: \x1b[1m\n{KEYS[0].line()}", "cannot be printed"),
    ],
)
def test_what_is_no_public_key_says_so(text_: str, told: str) -> None:
    with pytest.raises(MinisignError, match=told):
        public_keys(text_)


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text_: str) -> None:
    for read in (signature_of, public_keys):
        reader: Callable[[str], object] = read
        try:
            reader(text_)
        except MinisignError as error:
            assert str(error)


@given(st.binary(max_size=300))
def test_what_we_sign_holds_for_just_that(data: bytes) -> None:
    made = ada().sign(data, file="x").file()
    assert made_by(made, data) == KEYS[0].name
    assert made_by(made, data + b"\n") == "nobody"


def test_the_statement_names_every_byte() -> None:
    assert statement(files_digest([FILE])) == STATEMENT
    other = ("digits/2/model.onnx", 7, FILE[2])
    all_digests = [
        files_digest(files, texts)
        for files, texts in [
            ([FILE], {}),
            ([], {}),
            ([FILE, other], {}),
            ([(FILE[0], 8, FILE[2])], {}),
            ([(FILE[0], 7, FILE[2][::-1])], {}),
            ([FILE], {"digits/config.pbtxt": "max_batch_size: 8"}),
            ([FILE], {"digits/config.pbtxt": "max_batch_size: 8\n"}),
            ([FILE], {"digits/1/model.onnx": "other"}),
            ([FILE, other], {"digits/2/model.onnx": "weights"}),
        ]
    ]
    # why one less: a text with the bytes of the file that it replaces is that file
    assert len(set(all_digests)) == len(all_digests) - 1
    assert all_digests[2] == all_digests[-1] == files_digest([other, FILE])


def test_two_lists_of_files_have_no_digest_in_common() -> None:
    """Without the check, one file whose path spells the line of another would do."""
    line = f"a\0{FILE[1]}\0{FILE[2]}\nb"
    with pytest.raises(ValueError, match="NUL"):
        files_digest([(line, FILE[1], FILE[2])])
