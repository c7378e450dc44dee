"""The ground that is attacked: a product as ``make up`` starts it, and somebody of each role."""

import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import httpx

from shoal.client import Client
from tests.e2e import tiny_model
from tests.e2e.product import Product

ROLES = ("member", "viewer", "invoker", "deployer", "operator", "admin")


@dataclass
class Ground:
    product: Product
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls, home: Path, settings: Mapping[str, str]) -> "Ground":
        home.mkdir(mode=0o755)  # as a careless person makes it
        previous = os.umask(0o022)
        try:
            product = Product(home, dict(settings))
            product.start()
        finally:
            os.umask(previous)
        return cls(product)

    @cached_property
    def admin(self) -> httpx.Client:
        return self.client(self.product.client["token"])

    def as_role(self, role: str) -> httpx.Client:
        """A client with a token that somebody of this role made for themselves."""
        if role not in self.tokens:
            self.tokens[role] = self._token(role)
        return self.client(self.tokens[role])

    def client(self, token: str = "") -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=f"{self.product.url}/api/v1", headers=headers, timeout=60)

    def shoal(self, role: str) -> Client:
        """The product's own client, as somebody of this role."""
        self.as_role(role).close()
        return Client(self.product.url, self.tokens[role])

    def upload(self, client: Client, name: str, files: Mapping[str, bytes]) -> str:
        """The id of an upload that was inspected. Raises Problem: it was refused."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.zip"
            path.write_bytes(packed.getvalue())
            return str(client.upload(path)["id"])

    @cached_property
    def plain_model(self) -> str:
        """The name of a registered model without any code."""
        with self.shoal("deployer") as client, tempfile.TemporaryDirectory() as folder:
            graph = tiny_model.write(Path(folder) / "plain.onnx").read_bytes()
            upload = self.upload(client, "plain", {"plain/1/model.onnx": graph})
            return client.register_model("plain", upload)["model"]

    def _token(self, role: str) -> str:
        made = self.admin.post("/users", json={"username": f"s-{role}", "role": role})
        made.raise_for_status()
        words = {"username": f"s-{role}", "password": made.json()["password"]}
        with self.client() as browser:
            session = browser.post("/session", json=words)
            session.raise_for_status()
            answer = browser.post(
                "/tokens",
                json={"name": "security"},
                headers={
                    "X-CSRFToken": session.json()["csrf_token"],
                    "Origin": self.product.url,
                },
            )
            answer.raise_for_status()
            return str(answer.json()["token"])
