"""No secret leaves in a text, whatever stands around it; what helps stays."""

import json

import pytest

from shoal.cli.scrubbing import REMOVED, Scrubber, alias

SECRET = "Tr0ub4dor&3"
RANDOM = "q7Hs9d_Kf2-Lm4Xw8Zb1Nc6Vt3Ry5Pj0"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
HOOK = "8x3kq5h1ftyq3jbm7r9x"
SHOWN = (
    f"Authorization: Bearer {RANDOM}",
    f"authorization: Basic {RANDOM}==",
    f'{{"Authorization": "Bearer {SECRET}"}}',
    f"('authorization', 'Token {SECRET}')",
    f"(b'authorization', b'Token {SECRET}')",
    f"Cookie: shoal_session={SECRET}; shoal_csrf=zyxwvu",
    f"Set-Cookie: a={SECRET}; Path=/",
    f"X-Api-Key: {SECRET}",
    f"sent bearer {RANDOM}",
    f"postgresql://shoal:{SECRET}@db/shoal",
    f"postgresql://shoal:a@b{SECRET}@db/shoal",
    f"redis://:{SECRET}@redis:6379/0",
    f"https://{RANDOM}@sentry.test/1",
    f"POSTGRES_PASSWORD={SECRET}",
    f"SHOAL_EMAIL_PASSWORD: '{SECRET} and more'",
    f'"client_secret": "{SECRET}"',
    f'"password": "with \\"quotes\\" {SECRET}"',
    f"password => {SECRET}",
    f"--password {SECRET} --user a",
    f"AccountKey={SECRET};EndpointSuffix=core",
    f"GET /x?sig=1&X-Amz-Signature={SECRET}&a=b",
    f"GET /x?sig={RANDOM}&se=2026",
    f"GET /hook?token={SECRET}",
    f"aws_secret_access_key = {SECRET}",
    f"a shoal_{RANDOM} token",
    f"snode_0123456789abcdef_{RANDOM}",
    f"sjoin_{RANDOM}.zyxwvu",
    f"hf_{RANDOM}",
    f"https://hooks.test/services/{RANDOM}",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    f"the key {HEX} of an endpoint",
    "mary.major+alerts@example.co.uk",
    f"postgresql://shoal:a/b{SECRET}@db/shoal",
    f"rediss://default:ab/{SECRET}/+@cache:6379",
    f'{{\\"client_secret\\": \\"{SECRET} and more\\"}}',
    f'{{\\"x-api-key\\": \\"{SECRET} and more\\", \\"a\\": 1}}',
    f"dict_items([('password', '{SECRET} and more'), ('a', 1)])",
    f"(b'client_secret', b'{SECRET} and more')",
    f"secret_key = b'{SECRET} and more'",
    f"https://chat.test/hooks/{HOOK}",
    f"https://hooks.test/catch/123/{HOOK}/ answered 500",
    f"POST https://chat.test/api/webhooks/1/{HOOK}?wait=true",
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n{RANDOM}\n-----END PRIVATE KEY-----",
    f"-----BEGIN EC PRIVATE KEY-----\\n{SECRET}\\n-----END EC PRIVATE KEY-----",
)
SECRETS = (
    SECRET, RANDOM, HEX, "AKIAIOSFODNN7EXAMPLE", "eyJhbGci", "c2lnbmF0", "mary", "example.co",
    "and more", "zyxwvu", HOOK,
)  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_what_looks_like_a_secret_goes(text: str) -> None:
    for shown in (f"2026-11-27 12:00:00 INFO {text}", f"a {text} z\nnext line"):
        cleaned = Scrubber().text(shown)
        assert not [secret for secret in SECRETS if secret in cleaned], cleaned
    assert Scrubber().text(f"{text}\nnext line").endswith("\nnext line")


def test_a_key_that_is_cut_off_goes_to_the_end() -> None:
    text = Scrubber().text(f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\nmore")
    assert text == REMOVED


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-27 12:00:00,123 INFO controlplane.operations advance: digits/blue is Ready",
        "worker_runtime.core.execution.pool: InstancePool of 4",
        "GET /api/v1/endpoints/digits 200 12.5 ms",
        "https://gateway.test:8443/endpoints/digits/v2/models/digits/infer",
        "/data/blobs/ab/cd: No such file or directory",
        "node 3f2a9c1b7d4e5f60 is silent for 12 s",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "120 tok/s, 4096 tokens",
        "pkg:pypi/django@5.2.1",
        "docker://registry.test:5000/shoal/runtime@sha256-1 was pulled",
        "https://git.test/webhooks",
        "https://docs.test/how-hooks-work: 404",
        "('token', 12)",
        'shoal_http_requests_total{method="GET",status="200"} 12.0',
    ],
)
def test_what_helps_stays(text: str) -> None:
    assert Scrubber().text(text) == text


def test_what_is_known_goes_even_when_it_looks_like_a_word() -> None:
    scrub = Scrubber(["swordfish", "swordfish-and-more\n", "no"])
    assert scrub.text("the swordfish-and-more, swordfish, no") == f"the {REMOVED}, {REMOVED}, no"


def test_the_same_digest_is_found_again_and_tells_nothing() -> None:
    first, second = Scrubber().text(f"of {HEX}"), Scrubber().text(f"again {HEX.upper()}")
    assert first == f"of [hex {alias(HEX)}]"
    assert second == f"again [hex {alias(HEX)}]"
    assert alias(HEX) not in HEX


def test_a_key_whose_beginning_was_cut_off_goes() -> None:
    lines = "Ab/cd+ef0123456789\n" * 3
    text = Scrubber().text(f"{lines}-----END PRIVATE KEY-----\nnext line")
    assert text == f"{REMOVED}\nnext line"


def test_what_people_fill_in_goes_whole() -> None:
    given = {
        "name": "blue",
        "environment": {"COLOUR": "plain"},
        "headers": ["x: plain"],
        "secret_environment": {"A": "plain"},
        "info": {"mail": "a@b.test", "password": "plain", "ports": [1, None, True]},
        "tokens": 12,
    }
    cleaned = Scrubber().value(given)
    assert "plain" not in json.dumps(cleaned)
    assert cleaned["info"] == {"mail": REMOVED, "password": REMOVED, "ports": [1, None, True]}
    assert (cleaned["name"], cleaned["tokens"]) == ("blue", 12)
