"""The corpus of hostile uploads: nobody who may deploy gets one of them to run unapproved."""

from collections.abc import Iterator

from shoal.client import Client, Problem
from tests.security.ground import Ground
from tests.security.tries import Outcome, Try, refused
from tests.support.hostile_uploads import HONEST, HOSTILE, Upload

PART = "uploads"


def tries(ground: Ground) -> Iterator[Try]:
    with ground.shoal("deployer") as client:
        for number, upload in enumerate(HOSTILE):
            code, words = _deployed(ground, client, upload, f"hostile-{number}")
            # why exactly this one: what is refused for another reason shows nothing of the gate
            said = f"{code} {words}; expected {upload.refusal}"
            yield refused(PART, upload.name, no=code == upload.refusal, answer=said)
        for number, upload in enumerate(HONEST):
            code, words = _deployed(ground, client, upload, f"honest-{number}")
            # why the other way around: a gate that stops everything would pass the above
            outcome: Outcome = "BROKEN" if code else "held"
            yield Try(PART, f"harmless: {upload.name}", outcome, f"{code} {words}")


def _deployed(ground: Ground, client: Client, upload: Upload, name: str) -> tuple[str, str]:
    """The code and words of whoever refused it on its way to a node; empty when nobody did."""
    try:
        version = client.register_model(name, ground.upload(client, name, upload.files))
        client.start_try_load(version["model"], version["version"])
    except Problem as problem:
        return problem.code, problem.detail
    return "", "its code was let through to a node"
