"""Where a version comes from, stated by whoever registers it: what is taken, refused and kept."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, Project
from controlplane.core.errors import Invalid
from controlplane.core.models import Event
from controlplane.registry.lineage import lineage_of, stated_beside, stated_read
from controlplane.registry.models import Model, ModelVersion, Upload
from tests.support.project_world import OURS, THEIRS, member
from tests.support.registered_models import model_register

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SAID = {
    "address": "https://git.example.org/acme/digits",
    "run": "train 7",
    "run_url": "https://mlflow.example.org/#/experiments/1/runs/0a1b",
    "commit": COMMIT,
    "dataset": "mnist@2026-11",
}
FOUND = {"kind": "hub", "address": "hf://acme/digits", "commit": COMMIT, "dataset": "", "by": "b"}
WORDS = {"by": "ada", "at": "2026-11-27T10:00:00+00:00"}
VERSION = "/api/v1/models/digits/versions/1"


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({}, {}),
        (SAID, SAID),
        (dict.fromkeys(SAID, "  "), {}),
        ({"run": "  a run "}, {"run": "a run"}),
        ({"dataset": "Wörter, 2. Auflage"}, {"dataset": "Wörter, 2. Auflage"}),
        ({"commit": "r1234"}, {"commit": "r1234"}),
        ({"commit": "refs/heads/main"}, {"commit": "refs/heads/main"}),
        ({"address": "s3://bucket/a"}, {"address": "s3://bucket/a"}),
        ({"address": "runs:/0a1b/model"}, {"address": "runs:/0a1b/model"}),
        ({"address": "ssh://git@host/a.git"}, {"address": "ssh://git@host/a.git"}),
        (
            {"address": "abfss://box@account.dfs.core.windows.net/a"},
            {"address": "abfss://box@account.dfs.core.windows.net/a"},
        ),
        ({"address": "HTTPS://host/A"}, {"address": "HTTPS://host/A"}),
        ({"run_url": "http://[::1]:5000/#/runs/1"}, {"run_url": "http://[::1]:5000/#/runs/1"}),
    ],
)
def test_what_is_taken(values: Mapping[str, str], kept: Mapping[str, str]) -> None:
    assert stated_read(values) == kept


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("run", "x" * 501, "at most 500 characters, not 501"),
        ("dataset", "a\nb", "one line without control characters"),
        ("run", "a\x1b[31mb", "one line without control characters"),
        ("dataset", "\u202egnp.exe", "one line without control characters"),
        ("run", "a\u2028b", "one line without control characters"),
        ("commit", "HEAD", "the commit itself"),
        ("commit", "fix the bug", "the commit itself"),
        ("commit", "<b>1</b>", "the commit itself"),
        ("commit", "-1", "the commit itself"),
        ("run_url", "javascript:alert(1)", "a link: https://host/path"),
        ("run_url", "JavaScript:alert(1)", "a link: https://host/path"),
        ("run_url", "data:text/html,x", "a link: https://host/path"),
        ("run_url", "s3://bucket/a", "a link: https://host/path"),
        ("run_url", "//host/a", "a link: https://host/path"),
        ("run_url", "mlflow.example.org/1", "a link: https://host/path"),
        ("run_url", "https://", "no host"),
        ("run_url", "https://host/a b", "spaces"),
        ("run_url", "https://hóst/", "other signs"),
        ("run_url", "https://host:99999/", "expected https://host/path"),
        ("address", "javascript:alert(1)", "begins with one of http, https, hf"),
        ("address", "data:text/html,x", "begins with one of http, https, hf"),
        ("address", "file:///etc/passwd", "begins with one of http, https, hf"),
        ("address", "git@host:acme/digits.git", "begins with one of http, https, hf"),
        ("address", "the old laptop", "begins with one of http, https, hf"),
        ("address", "s3://", "an address without spaces that names something"),
        ("address", "s3://a b", "an address without spaces that names something"),
        ("address", "s3://[a", "an address"),
        ("address", "https://host/" + "x" * 2000, "at most 2000 characters"),
    ],
)
def test_what_is_refused(field: str, text: str, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        stated_read({field: text})
    assert refused.value.field == f"lineage.{field}"
    assert refused.value.message.startswith(f"lineage.{field}: ")
    assert told in refused.value.message
    assert refused.value.hints


@pytest.mark.parametrize("text", ["https://me:s3cr3t@host/a", "git://me:s3cr3t@host/a"])
def test_a_password_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Invalid, match="password") as refused:
        stated_read({"address": text})
    assert "s3cr3t" not in refused.value.message


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ({}, {}),
        ({"run": "7"}, {"run": "7"}),
        ({"dataset": "mnist"}, {"dataset": "mnist"}),  # the source told none
        ({"commit": COMMIT}, {}),  # nothing new
        ({"commit": f" {COMMIT} ", "address": ""}, {}),
        ({"commit": COMMIT, "run": "7"}, {"run": "7"}),
    ],
)
def test_what_was_found_stands(stated: Mapping[str, str], kept: Mapping[str, str]) -> None:
    assert stated_beside(FOUND, stated) == kept


def test_what_contradicts_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        stated_beside(FOUND, {"run": "7", "commit": "c0ffee"})
    assert refused.value.field == "lineage.commit"
    assert refused.value.message == (
        f'lineage.commit: "c0ffee", expected "{COMMIT}", which the import found.'
    )


@pytest.mark.parametrize(
    ("found", "stated", "told"),
    [
        ({}, {}, {}),
        (FOUND, {}, FOUND),
        (
            {},
            {"run": "7", **WORDS},
            {
                "kind": "stated",
                "address": "",
                "run": "7",
                "stated": ["run"],
                **WORDS,
                "stated_by": WORDS["by"],
                "stated_at": WORDS["at"],
            },
        ),
        (
            FOUND,
            {"run": "7", **WORDS},
            {
                **FOUND,
                "run": "7",
                "stated": ["run"],
                "at": WORDS["at"],
                "stated_by": WORDS["by"],
                "stated_at": WORDS["at"],
            },
        ),
    ],
)
def test_both_in_one(
    found: dict[str, Any], stated: dict[str, Any], told: Mapping[str, Any]
) -> None:
    assert lineage_of(found, stated) == told


@pytest.fixture
def registered(api: APIClient, ingested: Callable[..., Upload]) -> Callable[..., Any]:
    def send(lineage: Any, content: bytes = b"a model", path: str = "/api/v1/models") -> Any:
        upload = ingested("digits.onnx", content)
        name = {"name": "digits"} if path == "/api/v1/models" else {}
        body = {**name, "upload_id": upload.pk, "lineage": lineage}
        return api.post(path, body, format="json")

    return send


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_version_tells_what_was_stated(api: APIClient, registered: Callable[..., Any]) -> None:
    answer = registered(SAID)
    assert answer.status_code == 201, answer.content
    lineage = api.get(VERSION).json()["lineage"]
    assert lineage == answer.json()["lineage"]
    assert {name: lineage[name] for name in SAID} == SAID
    assert (lineage["kind"], lineage["by"], lineage["stated_by"]) == ("stated", "dora", "dora")
    assert (sorted(lineage["stated"]), lineage["at"]) == (sorted(SAID), lineage["stated_at"])
    assert Event.objects.get(verb="model.registered").data["lineage"]["commit"] == COMMIT
    # the same content again is the version that it was, with its lineage
    again = registered({"commit": "c0ffee"})
    assert (again.status_code, again.json()["lineage"]["commit"]) == (200, COMMIT)
    # the next one says its own, or nothing
    path = "/api/v1/models/digits/versions"
    second = registered({"run": "8"}, b"another", path)
    assert second.json()["lineage"]["stated"] == ["run"]
    assert registered(None, b"a third", path).json()["lineage"] is None
    listed = [row["lineage"] and row["lineage"]["run"] for row in api.get(path).json()["items"]]
    assert listed == [None, "8", "train 7"]
    assert api.get("/api/v1/models/digits").json()["latest"]["lineage"] is None


@pytest.mark.django_db(databases=["default", "metrics"])
@pytest.mark.parametrize(
    ("lineage", "field"),
    [
        ({"run_url": "javascript:alert(1)"}, "lineage.run_url"),
        ({"commit": "x" * 501}, "lineage.commit"),
        ({"run": 7, "dataset": ["a"]}, "lineage.dataset"),
        ({"branch": "main"}, "lineage.branch"),
        ("main", "lineage"),
    ],
)
def test_rubbish_registers_nothing(
    registered: Callable[..., Any], lineage: Any, field: str
) -> None:
    answer = registered(lineage)
    assert answer.status_code == 400
    body = answer.json()
    assert field in (body.get("field"), *_places(body.get("errors") or {})), body
    assert not ModelVersion.objects.exists()


def _places(errors: Any, path: str = "") -> list[str]:
    if not isinstance(errors, dict):
        return [path]
    found = [one for key, inner in errors.items() for one in _places(inner, f"{path}.{key}")]
    return [one.removeprefix(".").removesuffix(".non_field_errors") for one in found]


@pytest.mark.django_db(databases=["default", "metrics"])
def test_it_is_stated_anew_with_an_event(api: APIClient, registered: Callable[..., Any]) -> None:
    registered({"run": "7", "commit": "c0ffee"})
    shown = api.get(VERSION)
    # what was read can be sent back, and says nothing new
    again = api.patch(VERSION, shown.json(), format="json")
    assert (again.status_code, again["ETag"]) == (200, shown["ETag"]), again.content
    assert not Event.objects.filter(verb="model.version_updated").exists()

    changed = api.patch(VERSION, {"lineage": {"commit": COMMIT}}, format="json")
    lineage = changed.json()["lineage"]
    assert (lineage["commit"], lineage["run"], lineage["stated"]) == (COMMIT, "", ["commit"])
    assert changed["ETag"] != shown["ETag"] == shown.json()["etag"]
    told = Event.objects.get(verb="model.version_updated")
    assert told.message == "dora changed stated_lineage of digits:1"
    assert told.data["changed"] == ["stated_lineage"]
    was, now = (told.data[side]["stated_lineage"] for side in ("before", "after"))
    assert (was["run"], now["commit"]) == ("7", COMMIT)
    stale = api.patch(
        VERSION, {"lineage": {"run": "9"}}, format="json", headers={"If-Match": shown["ETag"]}
    )
    assert stale.status_code == 412
    assert stale.json()["current"]["etag"] == changed["ETag"]
    # other words leave it alone, null takes it away
    api.patch(VERSION, {"description": "d"}, format="json")
    assert api.get(VERSION).json()["lineage"]["commit"] == COMMIT
    assert api.patch(VERSION, {"lineage": None}, format="json").json()["lineage"] is None
    assert ModelVersion.objects.get().stated_lineage == {}


@pytest.mark.django_db(databases=["default", "metrics"])
def test_an_import_keeps_what_it_found(api: APIClient, registered: Callable[..., Any]) -> None:
    registered(None)
    at = "2026-11-27T09:00:00+00:00"
    ModelVersion.objects.update(lineage={**FOUND, "at": at})
    added = api.patch(VERSION, {"lineage": {"run": "7", "commit": COMMIT}}, format="json")
    lineage = added.json()["lineage"]
    assert (lineage["kind"], lineage["run"], lineage["stated"]) == ("hub", "7", ["run"])
    assert (lineage["by"], lineage["stated_by"]) == ("b", "dora")
    assert ModelVersion.objects.get().stated_lineage.keys() == {"run", "by", "at"}
    other = api.patch(VERSION, {"lineage": {"address": "hf://else/where"}}, format="json")
    assert (other.status_code, other.json()["field"]) == (400, "lineage.address")
    assert api.patch(VERSION, {"lineage": None}, format="json").json()["lineage"]["run"] == ""
    assert ModelVersion.objects.get().lineage == {**FOUND, "at": at}


@pytest.mark.django_db(databases=["default", "metrics"])
def test_who_only_looks_states_nothing(viewer_api: APIClient) -> None:
    model_register("digits")
    answer = viewer_api.patch(VERSION, {"lineage": {"run": "7"}}, format="json")
    assert answer.status_code == 403
    assert ModelVersion.objects.get().stated_lineage == {}


@pytest.mark.django_db(databases=["default", "metrics"])
def test_projects_state_it_of_their_own_alone(client_of: Callable[[Any], APIClient]) -> None:
    for name in (OURS, THEIRS):
        Project.objects.create(name=name)
        model_register(f"{name}-model")
        Model.everything.filter(name=f"{name}-model").update(project=name)
    body = {"lineage": {"run": "7"}}
    codes = []
    for role in (Membership.Role.DEPLOYER, Membership.Role.VIEWER):
        client = client_of(member(OURS, role, name=f"mia-{role}"))
        for name in (OURS, THEIRS):
            path = f"/api/v1/models/{name}-model/versions/1"
            codes.append(client.patch(path, body, format="json").status_code)
    assert codes == [200, 404, 403, 403]
    stated = ModelVersion.everything.exclude(stated_lineage={})
    assert [version.model.name for version in stated] == [f"{OURS}-model"]
