"""Run inside an installation: one of everything that the API can show, and a token per role."""

import json
import sys
from datetime import timedelta
from pathlib import Path

import django


def main(output: Path) -> None:
    """Writes tokens by role, known names and spare names as JSON."""
    from django.utils import timezone

    from controlplane.accounts.models import Project, User
    from controlplane.accounts.services import token_create
    from controlplane.deployments.services import Spec, trial_start
    from controlplane.deployments.services.sweeps import plan_made, sweep_start
    from controlplane.deployments.services.tunings import tuning_start
    from controlplane.operations import services
    from controlplane.registry.models import Upload
    from controlplane.registry.services import aliases, configs
    from tests.support.registered_models import CONFIG, model_register
    from tests.support.simulated_node import SimulatedNode, gateway_confirms

    now = timezone.now()
    people = {
        role: User.objects.create_user(f"fuzz-{role}", password="correct horse", role=role)
        for role in User.Role.values
    }
    tokens = {
        role: token_create(user=user, name="fuzz", actor="x")[1] for role, user in people.items()
    }
    spare_user = User.objects.create_user("spare", password="correct horse", role="viewer")
    spare_token, _ = token_create(user=people["admin"], name="spare", actor="x")
    for name in ("digits", "spare"):
        version = model_register(name)
        configs.revision_create(
            name=name, version="1", configs={name: CONFIG.replace("digits", name)}, message="",
            base=0, actor="x",
        )  # fmt: skip
        aliases.alias_set(model=name, alias="champion", version=str(version.version), actor="x")
    node = SimulatedNode("local")
    SimulatedNode("spare")
    operation = None
    for name in ("digits", "spare"):
        spec = Spec(model=name, traffic=100)
        operation = services.deploy(spec=spec, endpoint=name, deployment="blue", actor="x", now=now)
        node.bring_up()
        gateway_confirms()
    trial = trial_start(model="digits", actor="x", now=now)
    sweep = sweep_start(
        endpoint="digits", deployment="blue", actor="x", now=now, while_serving=True,
        plan=plan_made(model="digits", mode="rate", levels=(1.0,), seconds=1.0),
    )  # fmt: skip
    tuning = tuning_start(
        endpoint="digits", deployment="blue", actor="x", now=now, node="spare",
        while_serving=True, instances=(1, 2),
        plan=plan_made(model="digits", mode="rate", levels=(1.0,), seconds=1.0),
    )  # fmt: skip
    uploads = [
        Upload.objects.create(
            id=letter * 32, filename="digits.onnx", size=64, created_by=people["admin"],
            expires_at=now + timedelta(days=7),
        ).pk
        for letter in "ab"
    ]  # fmt: skip
    known = {
        "name": ["digits", "gpu"],
        "model": ["digits"],
        "endpoint": ["digits"],
        "deployment": ["blue"],
        "version": ["1", "latest", "@champion"],
        "alias": ["champion"],
        "repo_model": ["digits"],
        "number": [1],
        "path": ["digits/config.pbtxt", "digits/1/model.onnx"],
        "node": ["local"],
        "operation_id": [operation.pk if operation else ""],
        "try_load_id": [trial.pk],
        "sweep_id": [sweep.pk],
        "tuning_id": [tuning.pk],
        "upload_id": [uploads[0]],
        "username": ["fuzz-viewer"],
        "project": ["default"],
    }
    spare = {
        "name": "spare",
        "endpoint": "spare",
        "deployment": "blue",
        "node": "spare",
        "upload_id": uploads[1],
        "username": spare_user.username,
        "project": Project.objects.create(name="spare", created_by="x").name,
        "token_id": spare_token.pk,
        "session_id": 1,
    }
    output.write_text(json.dumps({"tokens": tokens, "known": known, "spare": spare}))


if __name__ == "__main__":
    django.setup()
    from django.test.utils import override_settings

    with override_settings(ALLOWED_HOSTS=["*"]):
        main(Path(sys.argv[1]))
