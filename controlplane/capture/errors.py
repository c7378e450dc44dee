"""What can go wrong with captured data."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class CapturedFileNotFound(NotFound):
    code = "CapturedFileNotFound"
    tries = ("`GET .../captured` lists those that are kept.",)


class CapturedRequestNotFound(NotFound):
    code = "CapturedRequestNotFound"
    tries = (
        "Its deployment captures a sample, if it does at all, and what is captured comes when its "
        "file is finished (`roll_seconds`): `shoal capture stats` says what there is.",
    )


class CaptureRefused(NotFound):
    """A node sent what is not of its own replicas, or of none that captures."""

    code = "CaptureRefused"
    tries = ("Fetch the desired state again: it names what is captured.",)


class CapturedDataInvalid(Invalid):
    code = "CapturedDataInvalid"
    tries = ("Expected is a JSON object in each line, with `inputs` and `outputs`: docs/data.md.",)


class NoCapturedData(Conflict):
    code = "NoCapturedData"
    tries = (
        "Does the deployment capture, and has it been asked since? `shoal capture stats` says so.",
    )


class NoBaseline(Conflict):
    code = "NoBaseline"
    tries = ("Set one: `shoal capture baseline`.",)
