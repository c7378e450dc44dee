"""Files load here as they load in the real azure-ai-ml (answers.json is what that package said)."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.client.errors import ShoalError
from shoal.entities import load_model, load_online_deployment, load_online_endpoint

FILES = Path(__file__).parents[2] / "support" / "azure_yaml"
ANSWERS: dict[str, Any] = json.loads((FILES / "answers.json").read_text())
LOADERS = {
    "endpoint": load_online_endpoint,
    "deployment": load_online_deployment,
    "model": load_model,
}


def comparable(values: Any) -> Any:
    """Without what a content hash names: ours and theirs hash differently."""
    if isinstance(values, dict):
        kept = {
            key: comparable(value)
            for key, value in values.items()
            if value is not None and not (key in ("properties", "tags") and not value)
        }
        if isinstance(values.get("model"), dict) and len(str(values["model"].get("name"))) == 64:
            kept["model"] = {**kept["model"], "name": None, "version": None}
        if isinstance(values.get("environment"), dict):
            kept["environment"] = {"image": values["environment"].get("image")}
        return kept
    return [comparable(value) for value in values] if isinstance(values, list) else values


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_file_loads_as_in_azure_ai_ml(name: str) -> None:
    answer = ANSWERS[name]
    load = LOADERS[answer["kind"]]
    if not answer["accepted"]:
        with pytest.raises(ShoalError) as caught:
            load(FILES / name)
        assert caught.value.detail
        return
    entity = load(FILES / name)  # type: ignore[operator]
    assert type(entity).__name__ == answer["type"]
    text = json.dumps(entity._to_dict(), default=str).replace(str(FILES), "<here>")
    ours, theirs = comparable(json.loads(text)), comparable(answer["is"])
    if isinstance(theirs.get("model"), dict) and theirs["model"].get("name") is None:
        theirs["model"] = {k: v for k, v in theirs["model"].items() if v is not None}
    assert ours == theirs


def test_every_file_has_an_answer() -> None:
    assert sorted(ANSWERS) == sorted(path.name for path in FILES.glob("*.yml"))


def test_what_is_written_loads_again(tmp_path: Path) -> None:
    for name, answer in ANSWERS.items():
        if not answer["accepted"]:
            continue
        load = LOADERS[answer["kind"]]
        entity = load(FILES / name)  # type: ignore[operator]
        entity.dump(tmp_path / name)
        again = load(tmp_path / name)  # type: ignore[operator]
        assert again._to_dict() == entity._to_dict(), name


def test_a_path_in_the_place_of_a_model_is_told_how_it_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "green.yml"
    file.write_text("name: green\nendpoint_name: net\nmodel: ./v2/net\n")
    with pytest.raises(ShoalError) as caught:
        load_online_deployment(file)
    assert "'./v2/net' refers to no model" in str(caught.value)
    (hint,) = caught.value.hints
    assert "{name: <name>, path: <file or folder>}" in hint
    file.write_text("name: green\nendpoint_name: net\nmodel: {name: net, path: ./v2/net}\n")
    loaded = load_online_deployment(file).model
    assert (loaded.name, str(loaded.path).endswith("v2/net")) == ("net", True)
