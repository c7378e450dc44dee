"""The ground that is attacked: a product as ``make up`` starts it, and somebody of each role."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import httpx

from tests.e2e.product import Product

ROLES = ("viewer", "invoker", "deployer", "operator", "admin")


@dataclass
class Ground:
    product: Product
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls, home: Path) -> "Ground":
        home.mkdir(mode=0o755)  # as a careless person makes it
        previous = os.umask(0o022)
        try:
            product = Product(home)
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
