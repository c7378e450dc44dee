"""Keys that are trusted, signatures that come in, and which of them count."""

import dataclasses
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.registry.models import ConfigRevision, ModelSignature, ModelVersion, SigningKey
from controlplane.registry.types import manifest_digest
from tests.support.minisign_files import ada, bob, signed, text
from tests.support.registered_models import CONFIG, files_add, model_register
from wire.minisign import Signature, signature_of
from wire.statement import statement

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
KEYS = "/api/v1/signing-keys"
SIGNATURES = "/api/v1/models/digits/versions/1/signatures"
ADA = "11BA528D52290C3C"


@pytest.fixture
def version() -> ModelVersion:
    return model_register()


def key_add(admin: APIClient, public: str, comment: str = "Ada") -> dict[str, Any]:
    answer = admin.post(KEYS, {"public_key": public, "comment": comment})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


@pytest.fixture
def trusted(admin_api: APIClient) -> dict[str, Any]:
    return key_add(admin_api, text("plain.pub"))


def digest_of(version: ModelVersion) -> str:
    return manifest_digest(version.manifest())


def problem(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_version_is_signed_and_shown_so(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    before = api.get(SIGNATURES).json()
    assert (before["signed"], before["items"], before["required"]) == (False, [], False)
    assert before["digest"] == digest_of(version)
    assert before["statement"].encode() == statement(before["digest"])
    answer = api.post(SIGNATURES, {"signature": signed(before["digest"])})
    after = answer.json()
    assert (answer.status_code, after["signed"], after) == (201, True, api.get(SIGNATURES).json())
    (item,) = after["items"]
    assert (item["key_id"], item["comment"], item["counts"]) == (ADA, "Ada", True)
    assert (item["uploaded_by"], item["signature"]) == ("dora", signed(before["digest"]))
    assert item["trusted_comment"] == "timestamp:1800000000\tfile:it.statement\thashed"
    event = Event.objects.get(verb="model.signed")
    assert (event.subject, event.data["digest"]) == ("model/digits", before["digest"])


def test_the_same_bytes_under_another_name_are_signed_too(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    api.post(SIGNATURES, {"signature": signed(digest_of(version))})
    twin = model_register("twin")
    twin.files.all().delete()
    files_add(twin, *version.manifest())
    assert api.get(SIGNATURES.replace("digits", "twin")).json()["signed"] is True


def test_signing_again_replaces_and_a_second_key_adds(
    api: APIClient, admin_api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    key_add(admin_api, bob().public.file(), "Bob")
    digest = digest_of(version)
    for text_ in (signed(digest), signed(digest), signed(digest, bob())):
        assert api.post(SIGNATURES, {"signature": text_}).status_code == 201
    comments = [item["comment"] for item in api.get(SIGNATURES).json()["items"]]
    assert comments == ["Ada", "Bob"]


def test_an_edited_configuration_needs_a_signature_of_its_own(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    api.post(SIGNATURES, {"signature": signed(digest_of(version))})
    edited = CONFIG + "max_batch_size: 4\n"
    ConfigRevision.objects.create(
        model_version=version, number=1, configs={"digits": edited}, author="dora"
    )
    newest = api.get(SIGNATURES).json()
    assert (newest["config_revision"], newest["signed"]) == (1, False)
    assert newest["digest"] == manifest_digest(version.manifest(), {"digits/config.pbtxt": edited})
    files = api.get(f"{SIGNATURES}?config_revision=0").json()
    assert (files["config_revision"], files["signed"]) == (0, True)
    swapped = api.post(SIGNATURES, {"signature": signed(files["digest"])})
    assert problem(swapped) == (400, "SignatureInvalid")
    right = {"signature": signed(newest["digest"]), "config_revision": 1}
    assert api.post(SIGNATURES, right).json()["signed"] is True
    missing = api.get(f"{SIGNATURES}?config_revision=7")
    assert problem(missing) == (404, "ConfigRevisionNotFound")


def test_a_revision_that_says_what_the_file_says_is_the_file(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    api.post(SIGNATURES, {"signature": signed(digest_of(version))})
    ConfigRevision.objects.create(
        model_version=version, number=1, configs={"digits": CONFIG}, author="dora"
    )
    assert api.get(SIGNATURES).json()["signed"] is True


def changed(digest: str, **fields: Any) -> str:
    return dataclasses.replace(signature_of(signed(digest)), **fields).file()


def flipped(raw: bytes) -> bytes:
    return bytes([raw[0] ^ 1]) + raw[1:]


def tampered(good: Signature) -> dict[str, dict[str, Any]]:
    return {
        "key id": {"key_id": flipped(good.key_id)},
        "algorithm": {"algorithm": b"Ed"},
        "signature": {"signature": flipped(good.signature)},
        "trusted comment": {"trusted_comment": good.trusted_comment + "!"},
        "global signature": {"global_signature": flipped(good.global_signature)},
        "of another key": {"signature": bob().sign(b"x", file="x").signature},
    }


@pytest.mark.parametrize("what", tampered(signature_of(signed("0" * 64))))
def test_what_was_tampered_with_is_not_kept(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion, what: str
) -> None:
    digest = digest_of(version)
    fields = tampered(signature_of(signed(digest)))[what]
    answer = api.post(SIGNATURES, {"signature": changed(digest, **fields)})
    assert problem(answer) == (400, "SignatureInvalid")
    assert answer.json()["field"] == "signature"
    assert ModelSignature.objects.count() == 0


@pytest.mark.parametrize(
    ("text_", "told"),
    [
        (signed("0" * 64), "did not sign this statement"),
        (text("digits.password.minisig"), "the key 15AA4AFC311BB6F5, which this installation"),
        (text("plain.pub"), "2 lines, expected the four"),
        ("signed, honestly", "1 lines"),
    ],
)
def test_a_refusal_says_what_is_wrong(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion, text_: str, told: str
) -> None:
    answer = api.post(SIGNATURES, {"signature": text_})
    assert problem(answer) == (400, "SignatureInvalid")
    assert told in answer.json()["detail"]


def test_a_removed_keys_signatures_count_no_more(
    api: APIClient, admin_api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    digest = digest_of(version)
    api.post(SIGNATURES, {"signature": signed(digest)})
    assert admin_api.delete(f"{KEYS}/{ADA.lower()}").status_code == 204
    shown = api.get(SIGNATURES).json()
    assert (shown["signed"], shown["items"][0]["counts"]) == (False, False)
    assert problem(api.post(SIGNATURES, {"signature": signed(digest)})) == (400, "SignatureInvalid")
    event = Event.objects.get(verb="signing_key.removed")
    assert (event.severity, event.subject) == ("warning", f"signing-key/{ADA}")
    assert event.message == f"Signatures of the key {ADA} (Ada) count no more"
    assert problem(admin_api.delete(f"{KEYS}/{ADA}")) == (404, "SigningKeyNotFound")
    key_add(admin_api, text("plain.pub"))
    assert api.get(SIGNATURES).json()["signed"] is True


def test_another_key_with_the_id_of_one_that_went_gets_nothing_of_it(
    api: APIClient, admin_api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    api.post(SIGNATURES, {"signature": signed(digest_of(version))})
    double = dataclasses.replace(bob(), key_id=ada().key_id)
    clash = admin_api.post(KEYS, {"public_key": double.public.file(), "comment": "Eve"})
    assert problem(clash) == (409, "Conflict")
    admin_api.delete(f"{KEYS}/{ADA}")
    key_add(admin_api, double.public.file(), "Eve")
    assert api.get(SIGNATURES).json()["signed"] is False


def test_a_row_that_was_forged_counts_for_nothing(
    api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    """Somebody who can write into the database has no key."""
    ModelSignature.objects.create(
        digest=digest_of(version), key_id=ADA, text=signed("0" * 64), uploaded_by="dora"
    )
    assert api.get(SIGNATURES).json()["signed"] is False


def test_keys_are_listed_and_told_in_the_event_log(
    api: APIClient, admin_api: APIClient, trusted: dict[str, Any]
) -> None:
    assert trusted["key_id"] == ADA
    assert trusted["public_key"] == text("plain.pub").splitlines()[1]
    assert api.get(KEYS).json()["items"] == [trusted]
    event = Event.objects.get(verb="signing_key.added")
    assert (event.actor, event.data) == (trusted["added_by"], {"public_key": trusted["public_key"]})
    again = key_add(admin_api, trusted["public_key"], "Ada, at work")
    assert (again["comment"], SigningKey.objects.count()) == ("Ada, at work", 1)


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ({"public_key": text("plain.key"), "comment": "x"}, "SigningKeyInvalid", "expected 42"),
        (
            {"public_key": text("plain.pub") + text("password.pub"), "comment": "x"},
            "SigningKeyInvalid",
            "2 keys, expected one",
        ),
        ({"public_key": text("plain.pub"), "comment": ""}, "BadArgument", "comment"),
        ({"public_key": text("plain.pub")}, "BadArgument", "comment"),
    ],
)
def test_what_is_no_key_is_refused(
    admin_api: APIClient, body: dict[str, str], code: str, told: str
) -> None:
    answer = admin_api.post(KEYS, body)
    assert problem(answer) == (400, code)
    assert told in answer.json()["detail"]
    assert text("plain.key").splitlines()[1] not in answer.content.decode()


def test_only_an_administrator_says_which_keys_count(
    api: APIClient, viewer_api: APIClient, trusted: dict[str, Any], version: ModelVersion
) -> None:
    body = {"public_key": bob().public.file(), "comment": "Bob"}
    assert api.post(KEYS, body).status_code == 403
    assert api.delete(f"{KEYS}/{ADA}").status_code == 403
    signature = {"signature": signed(digest_of(version))}
    assert viewer_api.post(SIGNATURES, signature).status_code == 403
