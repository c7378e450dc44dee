"""A real OpenID provider (oidc-provider-mock: discovery, JWKS, codes and tokens over HTTP) that can
be told to lie about one ID token. It checks PKCE, which the package does not.
"""

import base64
import hashlib
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask
import httpx
from joserfc import jws
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import oidc_provider_mock

Lie = Callable[[dict[str, Any], dict[str, Any]], "RSAKey | None"]


class Provider:
    """``lie`` changes header and claims of the next ID tokens, and may return another key."""

    def __init__(self) -> None:
        self.lie: Lie | None = None
        self.issuer = ""
        self.discovery: dict[str, Any] = {}  # what the metadata says instead
        self.token_requests = 0
        self._challenges: dict[str, str] = {}
        self._key: RSAKey | None = None
        self.app = oidc_provider_mock.app(require_nonce=True)
        self.app.before_request(self._check_verifier)
        self.app.after_request(self._changed)

    def person(self, subject: str, **claims: Any) -> None:
        """Somebody who can sign in there, with these claims."""
        httpx.put(f"{self.issuer}/users/{subject}", json=claims).raise_for_status()

    def consent(self, url: str, subject: str) -> str:
        """What the person does on the provider's page; returns where the browser is sent."""
        answer = httpx.post(url, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        query = parse_qs(urlsplit(url).query)
        assert query["code_challenge_method"] == ["S256"]
        back = answer.headers["location"]
        self._challenges[parse_qs(urlsplit(back).query)["code"][0]] = query["code_challenge"][0]
        return str(back)

    def _check_verifier(self) -> Any:
        if flask.request.path != "/oauth2/token":
            return None
        self.token_requests += 1
        code, verifier = flask.request.form["code"], flask.request.form.get("code_verifier", "")
        digest = hashlib.sha256(verifier.encode()).digest()
        made = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if self._challenges.get(code) != made:
            return flask.jsonify(error="invalid_grant"), 400
        return None

    def _changed(self, response: flask.Response) -> flask.Response:
        if flask.request.path == "/.well-known/openid-configuration" and self.discovery:
            response.set_data(json.dumps({**response.get_json(), **self.discovery}))
        if flask.request.path == "/oauth2/token" and response.status_code == 200 and self.lie:
            body = response.get_json()
            body["id_token"] = self._lied(body["id_token"])
            response.set_data(json.dumps(body))
        return response

    def _lied(self, token: str) -> str:
        assert self.lie is not None
        storage = flask.g.oidc_provider_mock_storage
        found = jws.extract_compact(token.encode())
        header, claims = dict(found.protected), json.loads(found.payload)
        own = RSAKey.import_key(storage.jwk.as_dict(is_private=True))
        key = self.lie(header, claims) or own
        if header["alg"] == "none":
            return ".".join(map(_segment, (header, claims))) + "."
        return jws.serialize_compact(header, json.dumps(claims).encode(), key)


def _segment(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@contextmanager
def running() -> Iterator[Provider]:
    provider = Provider()
    server = make_server("127.0.0.1", 0, provider.app, threaded=True)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
