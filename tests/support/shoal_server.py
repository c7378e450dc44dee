"""The part of the REST API that a deployment touches, in memory, with faults on demand."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import httpx

from tests.support.shoal_environments import FakeEnvironments

URL = "http://shoal.test"
TOKEN = "shoal_test"
PASSWORD = "correct horse"
CHUNK = 1000
# Of a deployment: what no replica has to notice, and the states in which all else has to wait.
WORDS = {
    "description", "tags", "declared", "request_timeout_ms", "max_concurrent_requests_per_instance",
}  # fmt: skip
MOVING = {"Creating", "Updating", "Scaling"}

Fault = Callable[[httpx.Request], httpx.Response | None]


def _policy_completed(body: dict[str, Any]) -> dict[str, Any]:
    policy = body.get("autoscale")
    return body | {"autoscale": {"enabled": True, "min": 1, **policy}} if policy else body


def stated(said: dict[str, str] | None) -> dict[str, Any] | None:
    """A lineage of which nothing was found, as the control plane shows it."""
    names = ("address", "run", "run_url", "commit", "dataset")
    told = {name: said[name] for name in names if said and said.get(name)}
    when = "2026-11-21T04:00:00Z"
    empty = dict.fromkeys((*names, "revision", "etag", "repository", "experiment"), "")
    who = {"by": "ada", "at": when, "stated_by": "ada", "stated_at": when}
    return {"kind": "stated", **empty, **told, **who, "stated": list(told)} if told else None


class FakeServer:
    """Give it to httpx.MockTransport. ``faults`` are used up one per matching request."""

    def __init__(self, chunk_bytes: int = CHUNK) -> None:
        self.chunk_bytes = chunk_bytes
        self.calls: list[str] = []
        self.token_name = ""
        self.second_factor = ""  # the code that signs in; empty: none is asked for
        self.uploads: dict[str, dict[str, Any]] = {}
        self.blobs: dict[str, bytes] = {}  # files of lists, by SHA-256, as far as they arrived
        self.received: dict[str, bytearray] = {}
        self.models: dict[str, list[dict[str, Any]]] = {}
        self.registered: list[dict[str, Any]] = []  # bodies, as they were sent
        self.endpoints: dict[str, dict[str, Any]] = {}
        self.operations: dict[str, dict[str, Any]] = {}
        self.environments = FakeEnvironments()
        self.inspection_error: dict[str, Any] | None = None
        self.other_tensors: dict[str, Any] = {}  # what is told of models that are registered next
        self.warnings: list[str] = []  # of every operation that is begun
        self.operation_error: dict[str, Any] | None = None
        self.faults: list[tuple[str, Fault]] = []

    def fail_next(self, pattern: str, fault: Fault, times: int = 1) -> None:
        """The next ``times`` requests whose "METHOD /path" matches go to ``fault`` first.

        A fault raises a transport error, answers in the server's place, or returns None to go on.
        """
        self.faults += [(pattern, fault)] * times

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        call = f"{request.method} {request.url.path.removeprefix('/api/v1')}"
        self.calls.append(call)
        for position, (pattern, fault) in enumerate(self.faults):
            if re.fullmatch(pattern, call):
                del self.faults[position]
                answer = fault(request)
                if answer is not None:
                    return answer
                break
        if (answer := self._session(call, request)) is not None:
            return answer
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return problem(401, "NotAuthenticated", "Credentials are missing or wrong")
        for pattern, handler in self._routes():
            if match := re.fullmatch(pattern, call):
                if request.url.params.get("dry_run") == "true":
                    return self._rehearsed(handler, request, *match.groups())
                return handler(request, *match.groups())
        return problem(404, "ResourceNotFound", f"No such object: {call}")

    def _rehearsed(
        self, handler: Callable[..., httpx.Response], request: httpx.Request, *names: str
    ) -> httpx.Response:
        before = deepcopy((self.endpoints, self.models, self.operations))
        answer = handler(request, *names)
        self.endpoints, self.models, self.operations = before
        return httpx.Response(204) if answer.is_success else answer

    def _routes(self) -> Iterator[tuple[str, Callable[..., httpx.Response]]]:
        yield r"POST /uploads", self._create_upload
        yield r"POST /imports", self._import
        yield r"DELETE /uploads/(\w+)", self._delete_upload
        yield r"(?:GET|HEAD) /uploads/(\w+)", self._get_upload
        yield r"PATCH /uploads/(\w+)", self._append
        yield r"GET /uploads/(\w+)/files", self._missing
        yield r"(?:GET|HEAD|PATCH) /uploads/(\w+)/files/(\w+)", self._file
        yield r"POST /uploads/(\w+)/complete", self._complete
        yield r"POST /models", self._register
        yield r"GET /models", lambda request: page(request, [self._model(n) for n in self.models])
        yield r"GET /models/([\w-]+)", self._get_model
        yield r"GET /models/([\w-]+)/versions", self._versions
        yield r"GET /models/([\w-]+)/versions/([\w@]+)", self._get_version
        yield r"GET /models/([\w-]+)/versions/(\w+)/files/(.+)", self._version_file
        yield r"POST /models/([\w-]+)/versions/(\w+)/(archive|restore)", self._archive
        yield r"PATCH /models/([\w-]+)/versions/(\w+)", self._patch_version
        yield from self.environments.routes(page)
        # why: an export asks for them, too
        yield r"GET /(?:channels|alert-rules|silences)", lambda request: page(request, [])
        yield r"POST /endpoints", self._create_endpoint
        yield r"PATCH /endpoints/([\w-]+)", self._patch_endpoint
        yield r"PUT /endpoints/([\w-]+)/(?:traffic|mirror)", self._patch_endpoint
        yield r"POST /endpoints/([\w-]+)/deployments", self._create_deployment
        yield r"GET /endpoints/([\w-]+)/deployments/([\w-]+)", self._get_deployment
        yield r"PATCH /endpoints/([\w-]+)/deployments/([\w-]+)", self._patch_deployment
        yield (
            r"POST /endpoints/([\w-]+)/deployments/([\w-]+)/(stop|start|restart|rollback)",
            self._pause,
        )
        yield r"DELETE /endpoints/([\w-]+)/deployments/([\w-]+)", self._delete_deployment
        yield (
            r"POST /endpoints/([\w-]+)/keys/regenerate",
            lambda _, __: httpx.Response(200, json={}),
        )
        yield (
            r"POST /endpoints/([\w-]+)/token",
            lambda _, name: httpx.Response(
                200, json={"accessToken": f"{name}-token", "expiryTimeUtc": 2000,
                           "refreshAfterTimeUtc": 1000, "tokenType": "Bearer"},
            ),
        )  # fmt: skip
        yield r"GET /endpoints", lambda request: page(request, list(self.endpoints.values()))
        yield r"GET /endpoints/([\w-]+)", self._get_endpoint
        yield r"DELETE /endpoints/([\w-]+)", self._delete_endpoint
        yield (
            r"POST /endpoints/([\w-]+)/keys/list",
            lambda _, name: httpx.Response(
                200, json={"primaryKey": f"{name}-1", "secondaryKey": f"{name}-2"}
            ),
        )
        yield r"POST /deploy", self._deploy
        yield r"GET /operations/(\w+)", self._advance
        yield r"POST /operations/(\w+)/retry", self._retry

    def _session(self, call: str, request: httpx.Request) -> httpx.Response | None:
        """Signing in with a password; writes by cookie need the CSRF token handed out last."""
        signed_in = "session=ada" in request.headers.get("Cookie", "")
        csrf = f"csrf-{'in' if signed_in else 'out'}"
        if call == "GET /session":
            return httpx.Response(200, json={"csrf_token": csrf, "version": "9.9"})
        if call == "POST /session":
            given = json.loads(request.content)
            code = given.pop("code", "")
            if given != {"username": "ada", "password": PASSWORD}:
                return problem(401, "BadCredentials", "Wrong user name or password")
            if code != self.second_factor:
                return problem(401, "CodeWrong" if code else "CodeNeeded", "A code is missing")
            cookie = {"Set-Cookie": "session=ada; Path=/"}
            return httpx.Response(200, json={"csrf_token": "csrf-in"}, headers=cookie)
        if not signed_in:
            return None
        if request.headers.get("X-CSRFToken") != csrf:
            return problem(403, "CsrfFailed", "The CSRF token is missing or old")
        if call == "POST /tokens":
            self.token_name = json.loads(request.content)["name"]
            return httpx.Response(201, json={"id": 1, "token": TOKEN})
        return httpx.Response(204) if call == "DELETE /session" else None

    def _create_upload(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        name = f"u{len(self.uploads) + 1}"
        self.received[name] = bytearray()
        files = body.get("files", [])
        content = "".join(f"{file['path']}{file.get('sha256')}" for file in files).encode()
        self.uploads[name] = {
            "id": name, "filename": body["filename"], "offset": 0, "files": files,
            "size": body.get("size", sum(file["size"] for file in files)),
            "sha256": body.get("sha256") or hashlib.sha256(content).hexdigest(),
            "state": "uploading", "chunk_size": self.chunk_bytes,
            "error": None,
            "steps": [{"name": "inspect", "title": "Inspect", "status": "pending", "detail": "",
                       "started_at": None, "ended_at": None}],
        }  # fmt: skip
        return httpx.Response(201, json=self.uploads[name])

    def _import(self, request: httpx.Request) -> httpx.Response:
        """It is fetched as soon as somebody looks."""
        body = json.loads(request.content)
        filename = body["address"].rpartition("/")[2]
        made = json.loads(self._create_upload(
            httpx.Request("POST", URL, json={"filename": filename, "size": 10})
        ).content)  # fmt: skip
        upload = self.uploads[made["id"]]
        upload |= {"state": "fetching", "offset": 4, "sha256": "f" * 64}
        upload["lineage"] = {
            "kind": "hub", "address": body["address"], "revision": "v1", "commit": "c0ffee",
            "etag": "", "repository": "https://hub.test/acme/digits", "run": "", "experiment": "",
            "dataset": "mnist", "by": "ada", "at": "2026-11-21T04:00:00Z",
        }  # fmt: skip
        upload["steps"] = [
            {"name": "fetch", "title": "Fetch the files", "status": "running", "detail": "",
             "started_at": "2026-11-21T04:00:00Z", "ended_at": None},
        ]  # fmt: skip
        return httpx.Response(202, json=upload)

    def _delete_upload(self, _: httpx.Request, name: str) -> httpx.Response:
        del self.uploads[name]
        return httpx.Response(204)

    def _get_upload(self, request: httpx.Request, name: str) -> httpx.Response:
        upload = self.uploads[name]
        if upload["state"] == "fetching":
            upload["state"] = "verifying"
            return httpx.Response(200, json={**upload, "state": "fetching"})
        if request.method == "GET" and upload["state"] == "verifying":
            upload["state"] = "failed" if self.inspection_error else "ready"
            upload["error"] = self.inspection_error
            upload["steps"][0]["status"] = "failed" if self.inspection_error else "succeeded"
        headers = {"Upload-Offset": str(upload["offset"]), "Upload-Length": str(upload["size"])}
        if request.method == "HEAD":
            return httpx.Response(200, headers=headers)
        return httpx.Response(200, json=upload)

    def _rows(self, upload: str) -> dict[str, dict[str, Any]]:
        """By digest: the listed files, and how much of each is here."""
        rows = {}
        for file in self.uploads[upload]["files"]:
            if not file["path"].endswith("/"):
                arrived = len(self.blobs.get(file["sha256"], b""))
                rows[file["sha256"]] = {**file, "offset": arrived}
        return rows

    def _missing(self, _: httpx.Request, name: str) -> httpx.Response:
        missing = [row for row in self._rows(name).values() if row["offset"] < row["size"]]
        return httpx.Response(200, json={"items": missing})

    def _file(self, request: httpx.Request, name: str, sha256: str) -> httpx.Response:
        row = self._rows(name)[sha256]
        if request.method == "PATCH":
            if int(request.headers["Upload-Offset"]) != row["offset"]:
                return problem(409, "UploadOffsetConflict", "Wrong offset", offset=row["offset"])
            self.blobs[sha256] = self.blobs.get(sha256, b"") + request.content
            row = self._rows(name)[sha256]
        return httpx.Response(200, json=row, headers={"Upload-Offset": str(row["offset"])})

    def _append(self, request: httpx.Request, name: str) -> httpx.Response:
        upload, data = self.uploads[name], request.content
        if int(request.headers["Upload-Offset"]) != upload["offset"]:
            return problem(409, "UploadOffsetConflict", "Wrong offset", offset=upload["offset"])
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        if request.headers["Upload-Checksum"] != f"sha256 {digest}":
            return problem(400, "ChecksumMismatch", "The chunk arrived damaged")
        self.received[name] += data
        upload["offset"] += len(data)
        return httpx.Response(200, json=upload)

    def _complete(self, request: httpx.Request, name: str) -> httpx.Response:
        upload = self.uploads[name]
        if json.loads(request.content).get("sha256") == "":
            return problem(400, "BadArgument", "sha256: no digest")
        if upload["files"]:
            if any(row["offset"] < row["size"] for row in self._rows(name).values()):
                return problem(409, "UploadIncomplete", "Files are missing")
            assert all(hashlib.sha256(self.blobs.get(row["sha256"], b"")).hexdigest()
                       == row["sha256"] for row in self._rows(name).values())  # fmt: skip
            upload["state"] = "verifying"
            return httpx.Response(202, json=upload)
        if upload["offset"] < upload["size"]:
            return problem(409, "UploadIncomplete", "Bytes are missing", offset=upload["offset"])
        if upload["state"] != "uploading":
            return problem(409, "Conflict", "The upload is complete already")
        assert hashlib.sha256(self.received[name]).hexdigest() == upload["sha256"]
        upload["state"] = "verifying"
        return httpx.Response(202, json=upload)

    def _register(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.registered.append(body)
        if body.get("configs"):
            return problem(400, "BadArgument", "This fake knows no configs")
        digest = self.uploads[body["upload_id"]]["sha256"]
        versions = self.models.setdefault(body["name"], [])
        for version in versions:
            if version["digest"] == digest:
                return httpx.Response(200, json=version)
        if versions and body.get("same_tensors") and self.other_tensors:
            return problem(409, "TensorsDiffer", "Its inputs and outputs are not those of net",
                           hints=["Where it is the next version, leave `same_tensors` out."],
                           **self.other_tensors)  # fmt: skip
        versions.append({
            "model": body["name"], "version": body.get("version") or len(versions) + 1,
            "digest": digest, "size": 1,
            "warnings": [], "repo_models": [{"name": "net"}], "archived": False, "type": "",
            "manifest": [
                file for file in self.uploads[body["upload_id"]]["files"] if "sha256" in file
            ] or [{"path": "net/1/model.onnx", "size": 1, "sha256": digest}],
            "lineage": self.uploads[body["upload_id"]].get("lineage")
            or stated(body.get("lineage")),
            "created_at": "2026-11-21T04:00:00Z", "created_by": "ada",
            "description": body.get("description", ""), "tags": body.get("tags", {}),
            "declared": body.get("declared", {}),
        })  # fmt: skip
        return httpx.Response(201, json=versions[-1])

    def _versions(self, request: httpx.Request, name: str) -> httpx.Response:
        if name not in self.models:
            return problem(404, "ModelNotFound", f"No model {name}")
        return page(request, [summary(row) for row in self.models[name]])

    def _version(self, name: str, which: str) -> dict[str, Any] | None:
        rows = [row for row in self.models.get(name, []) if not row["archived"] or which.isdigit()]
        if which == "latest":
            return rows[-1] if rows else None
        return next((row for row in rows if str(row["version"]) == which), None)

    def _get_version(self, _: httpx.Request, name: str, which: str) -> httpx.Response:
        row = self._version(name, which)
        if row is None:
            return problem(404, "ModelNotFound", f"Model {name} has no version {which}")
        return httpx.Response(200, json=row)

    def _version_file(self, _: httpx.Request, name: str, which: str, path: str) -> httpx.Response:
        row = self._version(name, which)
        assert row is not None
        (entry,) = (entry for entry in row["manifest"] if entry["path"] == path)
        return httpx.Response(200, content=self.blobs[entry["sha256"]])

    def _archive(self, _: httpx.Request, name: str, which: str, verb: str) -> httpx.Response:
        row = self._version(name, which)
        if row is None:
            return problem(404, "ModelNotFound", f"Model {name} has no version {which}")
        row["archived"] = verb == "archive"
        return httpx.Response(200, json=row)

    def _patch_version(self, request: httpx.Request, name: str, which: str) -> httpx.Response:
        row = self._version(name, which)
        assert row is not None
        body = json.loads(request.content)
        if "lineage" in body:
            body["lineage"] = stated(body["lineage"])
        row |= body
        return httpx.Response(200, json=row)

    def _create_endpoint(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if body["name"] in self.endpoints:
            return problem(409, "NameTaken", f"There is an endpoint called {body['name']}")
        self.endpoints[body["name"]] = self._endpoint(body["name"]) | body
        return httpx.Response(201, json=self.endpoints[body["name"]])

    def _patch_endpoint(self, request: httpx.Request, name: str) -> httpx.Response:
        body = json.loads(request.content)
        body = {key: {n: p for n, p in value.items() if p} if key.endswith("traffic") else value
                for key, value in body.items()}  # fmt: skip
        self.endpoints[name] |= body
        return httpx.Response(200, json=self.endpoints[name])

    def _create_deployment(self, request: httpx.Request, name: str) -> httpx.Response:
        body = json.loads(request.content)
        if body.get("request_timeout_ms", 1) > 3_600_000:
            return problem(400, "BadArgument", "request_timeout_ms is out of range")
        if self._version(body["model"], str(body["version"])) is None:
            return problem(404, "ModelNotFound", f"No model {body['model']}:{body['version']}")
        if name not in self.endpoints:
            return problem(404, "EndpointNotFound", f"There is no endpoint called {name}.")
        body = _policy_completed({"instance_count": 1, **body})
        rows = self.endpoints[name]["deployments"]
        rows[:] = [row for row in rows if row["name"] != body["name"]]
        rows.append({
            "endpoint": name, "serving_state": "Healthy", "error": None, "replicas": [],
            "request_timeout_ms": 60_000,
            "max_concurrent_requests_per_instance": None, "max_queue_wait_ms": None,
            **body, "provisioning_state": "Creating",
        })  # fmt: skip
        operation = self._operation("deploy", name, body["name"])
        rows[-1]["operation"] = operation["id"]
        self.operations[operation["id"]]["traffic"] = body.get("traffic", 0)
        return httpx.Response(202, json=operation)

    def _row(self, name: str, deployment: str) -> dict[str, Any] | None:
        rows = self.endpoints.get(name, {"deployments": []})["deployments"]
        return next((row for row in rows if row["name"] == deployment), None)

    def _get_deployment(self, _: httpx.Request, name: str, deployment: str) -> httpx.Response:
        row = self._row(name, deployment)
        if row is None:
            return problem(404, "DeploymentNotFound", f"No deployment {deployment}")
        return httpx.Response(200, json=row)

    def _patch_deployment(
        self, request: httpx.Request, name: str, deployment: str
    ) -> httpx.Response:
        row, body = self._row(name, deployment), json.loads(request.content)
        assert row is not None
        wait = "max_queue_wait_ms"
        body = {key: value or None if key == wait else value for key, value in body.items()}
        body = _policy_completed(body)
        differ = {key for key, value in body.items() if str(row.get(key)) != str(value)}
        if differ - WORDS and row["provisioning_state"] in MOVING and not request.url.params:
            return problem(409, "OperationInProgress", "Another change is under way")
        row |= body
        rolls = differ - WORDS - {"instance_count"}
        if not rolls and "instance_count" not in differ:
            return httpx.Response(200, json=row)
        kind = "deploy" if rolls else "scale"
        return httpx.Response(202, json=self._operation(kind, name, deployment))

    def _pause(
        self, request: httpx.Request, name: str, deployment: str, verb: str
    ) -> httpx.Response:
        row = self._row(name, deployment)
        if row is None:
            return problem(404, "DeploymentNotFound", f"No deployment {deployment}")
        carries = self.endpoints[name]["traffic"].get(deployment)
        if verb == "stop" and carries and request.url.params.get("force") != "true":
            return problem(409, "DeploymentHasTraffic", f"{deployment} answers {carries} %")
        row["serving_state"] = "Stopped" if verb == "stop" else "Healthy"
        return httpx.Response(202, json=self._operation("scale", name, deployment))

    def _delete_deployment(self, _: httpx.Request, name: str, deployment: str) -> httpx.Response:
        rows = self.endpoints[name]["deployments"]
        rows[:] = [row for row in rows if row["name"] != deployment]
        return httpx.Response(202, json=self._operation("delete-deployment", name, deployment))

    def _model(self, name: str) -> dict[str, Any]:
        versions = self.models[name]
        return {"name": name, "latest_version": len(versions), "latest": versions[-1],
                "used_by": [], "updated_at": "2026-11-21T04:00:00Z"}  # fmt: skip

    def _get_model(self, _: httpx.Request, name: str) -> httpx.Response:
        if name not in self.models:
            return problem(404, "ResourceNotFound", f"No model {name}")
        return httpx.Response(200, json=self._model(name))

    def _get_endpoint(self, _: httpx.Request, name: str) -> httpx.Response:
        if name not in self.endpoints:
            return problem(404, "ResourceNotFound", f"No endpoint {name}")
        return httpx.Response(200, json=self.endpoints[name])

    def _delete_endpoint(self, _: httpx.Request, name: str) -> httpx.Response:
        if self.endpoints.pop(name, None) is None:
            return problem(404, "ResourceNotFound", f"No endpoint {name}")
        return httpx.Response(202, json=self._operation("delete-endpoint", name, ""))

    def _deploy(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        name = body["endpoint"]
        for operation in self.operations.values():
            if operation["endpoint"] == name and operation["state"] == "Running":
                return httpx.Response(202, json=operation)
        endpoint = self.endpoints.setdefault(name, self._endpoint(name))
        same = [d for d in endpoint["deployments"] if d["version"] == body["version"]]
        if same:
            return httpx.Response(202, json=self._operation("deploy", name, same[0]["name"]))
        slot = body.get("deployment") or ("green" if endpoint["traffic"].get("blue") else "blue")
        endpoint["deployments"].append({
            "name": slot, "provisioning_state": "Creating", "model": body["model"],
            "version": body["version"], "serving_state": "Deploying", "traffic": 0,
            "replicas": [], "error": None, "instance_count": body.get("instance_count", 1),
        })  # fmt: skip
        return httpx.Response(202, json=self._operation("deploy", name, slot))

    def _endpoint(self, name: str) -> dict[str, Any]:
        return {
            "name": name, "description": "", "traffic": {}, "deployments": [], "models": [],
            "serving_state": "Deploying", "provisioning_state": "Succeeded", "mirror_traffic": {},
            "scoring_uri": f"https://gateway.test/endpoints/{name}/", "grpc_target": "gateway.test",
            "plain_uri": f"http://gateway.test/endpoints/{name}/", "ca_path": "/ca.pem",
        }  # fmt: skip

    def _operation(self, kind: str, endpoint: str, deployment: str) -> dict[str, Any]:
        name = f"o{len(self.operations) + 1}"
        self.operations[name] = {
            "id": name, "kind": kind, "endpoint": endpoint, "deployment": deployment,
            "state": "Running", "error": None, "result": None, "percent": 0,
            "created_at": "2026-11-21T04:00:00Z", "created_by": "ada", "finished_at": None,
            "warnings": self.warnings,
            "stages": [{"name": "load", "title": "Load", "status": "running", "detail": "",
                        "started_at": None, "ended_at": None, "progress": None}],
        }  # fmt: skip
        return json.loads(json.dumps(self.operations[name]))

    def _retry(self, _: httpx.Request, name: str) -> httpx.Response:
        old = self.operations[name]
        again = self._operation(old["kind"], old["endpoint"], old["deployment"])
        return httpx.Response(202, json=again)

    def _advance(self, _: httpx.Request, name: str) -> httpx.Response:
        operation = self.operations.get(name)
        if operation is None:
            return problem(404, "ResourceNotFound", f"No operation {name}")
        failed = self.operation_error is not None
        operation["state"] = "Failed" if failed else "Succeeded"
        operation["error"] = self.operation_error
        operation["stages"][0]["status"] = "failed" if failed else "succeeded"
        endpoint = self.endpoints.get(operation["endpoint"])
        if operation["kind"] == "deploy" and endpoint is not None and not failed:
            if operation.get("traffic", 100):
                endpoint["traffic"] = {operation["deployment"]: 100}
            endpoint["deployments"][-1]["provisioning_state"] = "Succeeded"
            operation["result"] = {"deployment": operation["deployment"], "model_name": "net",
                                   "models": ["net"]}  # fmt: skip
        return httpx.Response(200, json=operation)


def problem(status: int, code: str, title: str, **extra: Any) -> httpx.Response:
    return httpx.Response(
        status,
        json={"type": f"/problems/{code}", "title": title, "status": status, "code": code,
              "hints": ["Look again."], **extra},
        headers={"Content-Type": "application/problem+json"},
    )  # fmt: skip


def summary(version: dict[str, Any]) -> dict[str, Any]:
    """As lists show a version: its files are counted, not named."""
    shown = {key: value for key, value in version.items() if key != "manifest"}
    return {**shown, "file_count": len(version["manifest"])}


def page(request: httpx.Request, items: list[dict[str, Any]]) -> httpx.Response:
    """Pages of one item, so that every listing is seen to follow the cursor."""
    start = int(request.url.params.get("cursor", 0))
    following = start + 1 if start + 1 < len(items) else None
    return httpx.Response(
        200, json={"items": items[start : start + 1], "next_cursor": following and str(following)}
    )


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def cut(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("connection reset", request=request)
