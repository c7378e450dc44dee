"""What people copy from guides goes through the real inspection: caught, mended, registered."""

import io
import zipfile

from tests.integration.controlplane.registry.test_registry_upload_to_ready import (
    begin,
    finished,
    send,
)
from tests.support.installation import Installation

PREPROCESS = """name: "preprocess"  # not what the folder is called
backend: "python"
max_batch_size: 8
input [ { name: "RAW" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "PIXELS" data_type: TYPE_FP32 dims: [ 3, 2 ] } ]
"""
ENSEMBLE = """platform: "ensemble"
max_batch_size: 8
input [ { name: "RAW" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 3, 2 ] } ]
ensemble_scheduling { step [ {
  model_name: "preprocessor" model_version: -1
  input_map { key: "RAW" value: "RAW" }
  output_map { key: "PIXELS" value: "y" }
} ] }
"""
MODEL = "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"


def test_a_pipeline_with_a_wrong_name_is_mended_on_request(installation: Installation) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("models/preprocessor/1/model.py", MODEL)
        archive.writestr("models/preprocessor/config.pbtxt", PREPROCESS)
        archive.writestr("models/pipeline/config.pbtxt", ENSEMBLE)
    with installation.client() as client:
        upload_id = begin(client, "guide.zip", buffer.getvalue())
        send(client, upload_id, 0, buffer.getvalue())
        client.post(f"/uploads/{upload_id}/complete", json={})
        upload = finished(client, upload_id)
        assert upload["state"] == "ready", upload["error"]
        errors = [p for p in upload["inspection"]["problems"] if p["severity"] == "error"]
        assert [problem["code"] for problem in errors] == ["NameMismatch"]
        assert errors[0]["fix"]["label"] == 'Write name: "preprocessor"'

        body = {"name": "guide", "upload_id": upload_id}
        refused = client.post("/models", json=body)
        assert (refused.status_code, refused.json()["code"]) == (400, "ConfigInvalid")
        assert 'Write name: "preprocessor".' in refused.json()["hints"]
        done = client.post("/models", json={**body, "apply_fixes": True})
        assert done.status_code == 201, done.text
        (revision,) = done.json()["config_revisions"]
        mended = PREPROCESS.replace('"preprocess"', '"preprocessor"')
        assert revision["configs"] == {"preprocessor": mended}
        config = client.get("/models/guide/versions/@latest/repo-models/preprocessor/config").json()
        assert config["text"] == PREPROCESS  # the file itself stays what it was
        assert {m["name"] for m in done.json()["repo_models"]} == {"preprocessor", "pipeline"}
