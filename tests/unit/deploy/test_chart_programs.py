"""What a pod of the chart is as a process: its command, its environment, its files."""

from pathlib import Path

import pytest

from tests.support.chart_programs import Place, claim, secret_files, stop_signal

SECRETS = {"keys": {"token": "t0p", "tls.crt": "PEM"}}
CONTAINER = {
    "name": "node",
    "image": "registry.example/shoal-node:1.0",
    "volumeMounts": [
        {"name": "data", "mountPath": "/data"},
        {"name": "trust", "mountPath": "/trust"},
        {"name": "tmp", "mountPath": "/tmp"},
    ],
    "env": [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "URL", "value": "http://$(POD_IP):8080/data"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
        {"name": "CA", "value": "/trust/ca.pem"},
    ],
}
PLACE = Place("shoal-node-1", "10.0.0.7", "m1", {"data": Path("/here/d"), "trust": Path("/here/t")})


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (None, ["python", "-m", "node_agent"]),
        (["cat", "/data/x", "/database", "/tmp/y"], ["cat", "/here/d/x", "/database", "/tmp/y"]),
        (
            ["sh", "-c", 'test -n "$(find /data -mmin -5)"'],
            ["sh", "-c", 'test -n "$(find /here/d -mmin -5)"'],
        ),
    ],
)
def test_commands_find_their_files(command: list[str] | None, argv: list[str]) -> None:
    assert PLACE.argv(CONTAINER, command) == argv


def test_variables_are_those_of_the_chart_over_the_image_s() -> None:
    told = PLACE.variables(CONTAINER, SECRETS)
    assert told["POD_IP"] == "10.0.0.7"
    assert told["URL"] == "http://10.0.0.7:8080/data"
    assert (told["TOKEN"], told["CA"]) == ("t0p", "/here/t/ca.pem")
    assert told["SHOAL_HOME"] == "/here/d"


def test_a_secret_that_nobody_made_is_an_error() -> None:
    with pytest.raises(KeyError, match="keys"):
        PLACE.variables(CONTAINER, {})


@pytest.mark.parametrize(("image", "signal"), [("node", "SIGINT"), ("control", "SIGTERM")])
def test_images_say_what_ends_them(image: str, signal: str) -> None:
    assert stop_signal({"image": f"shoal-{image}:1"}) == signal


def test_volumes_are_claims_or_secrets_or_their_own() -> None:
    assert claim({"persistentVolumeClaim": {"claimName": "shoal-data"}}) == "shoal-data"
    assert claim({"emptyDir": {}}) == ""
    items = [{"key": "tls.crt", "path": "ca.pem"}]
    some = {"secret": {"secretName": "keys", "items": items}}
    assert secret_files(some, SECRETS) == {"ca.pem": "PEM"}
    assert secret_files({"secret": {"secretName": "keys"}}, SECRETS) == SECRETS["keys"]
