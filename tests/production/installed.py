"""An installation and who uses it: its administrator, and callers of its endpoints."""

import json
import re
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from tests.chaos.studio import Studio, until
from tests.production.calls import Calls, Reads
from tests.production.cluster import Cluster, Pod
from tests.production.containers import Release
from tests.production.neighbours import Neighbours, neighbours
from tests.production.network import Network
from tests.support.helm_chart import NAMESPACE, ROOT

VALUES = Path(__file__).with_name("values.yaml")
STUDIO = "http://shoal-web:8080"
SCORING = f"https://shoal-gateway.{NAMESPACE}.svc"
THIS = Release(ROOT, Path(sys.executable).parent)
NODES = 3


def first_visit(said: str) -> str:
    """As who reads the set-up's log does: opens the link, and makes a token for programs."""
    link = re.search(r"^First visit\s+(\S+)/setup#(\S+)", said, re.MULTILINE)
    assert link is not None, said
    chosen = {"token": link.group(2), "username": "ada", "password": "a-long-password-1"}
    with httpx.Client(base_url=f"{link.group(1)}/api/v1", trust_env=False, timeout=30) as browser:
        visit = browser.post("/setup", json=chosen)
        assert visit.status_code == 200, visit.text
        proof = {"X-CSRFToken": visit.json()["csrf_token"]}
        made = browser.post("/tokens", json={"name": "production"}, headers=proof)
        assert made.is_success, made.text
        return str(made.json()["token"])


@dataclass
class Installed:
    cluster: Cluster
    neighbours: Neighbours
    studio: Studio
    trust: ssl.SSLContext  # the authority of the gateways
    authority: Path  # the same as a file

    @classmethod
    @contextmanager
    def of(cls, release: Release, folder: Path, network: Network) -> Iterator[Self]:
        """The chart of a version with its own programs, until all that it starts is ready."""
        with neighbours(folder) as beside:
            cluster = Cluster(folder / "pods", VALUES, beside.secrets, network, release)
            try:
                said = cluster.install()
                studio = Studio(STUDIO, first_visit(said))
                until(lambda: _online(studio) == NODES, "all nodes are online")
                authority = folder / "ca.pem"
                authority.write_text(studio.get("/ca")["certificates"])
                trust = ssl.create_default_context(cafile=authority)
                yield cls(cluster, beside, studio, trust, authority)
            finally:
                cluster.close()

    @property
    def token(self) -> str:
        """The administrator's."""
        return self.studio.http.headers["Authorization"].removeprefix("Bearer ")

    # Calling

    def reads(self, path: str = "/endpoints") -> Reads:
        """Callers of the studio's API by way of the proxy, not yet started."""
        return Reads(f"{STUDIO}/api/v1{path}", self.token)

    def endpoint(self, name: str, model: str = "tiny", **wanted: Any) -> None:
        """A live endpoint of the smallest model."""
        if self.studio.http.get(f"/models/{model}").status_code == 404:
            self.studio.register(model)
        self.studio.succeeded(self.studio.deploy(name, model, **wanted))

    def calls(self, endpoint: str, model: str = "tiny", **how: Any) -> Calls:
        """Callers by way of the Service of all gateways, not yet started."""
        url = f"{SCORING}/endpoints/{endpoint}/v2/models/{model}/infer"
        return Calls(url, self.studio.key(endpoint), trust=self.trust, **how)

    def pod_of(self, node: str) -> Pod:
        """The pod that is this node."""
        return next(pod for pod in self.cluster.pods if pod.name == node)

    def hosts(self, endpoint: str) -> list[Pod]:
        """The pods where its replicas run."""
        return [self.pod_of(replica["node"]) for replica in self.studio.replicas(endpoint)]

    def runtimes(self, node: Pod) -> list[psutil.Process]:
        """The processes of the replicas that run on a node's pod, by its agent's journals."""
        found = []
        for journal in node.file("node", "/data/node/replicas").glob("*/state.json"):
            with suppress(OSError, ValueError, psutil.NoSuchProcess):
                process = psutil.Process(json.loads(journal.read_text())["pid"])
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found


def _online(studio: Studio) -> int:
    found = studio.patiently("/nodes") or {"items": []}
    return sum(node["state"] == "online" for node in found["items"])


class Stage:
    """At most one installation at a time: all of them are reached by the same names."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder, self._network = folder, network
        self._held = ExitStack()
        self._shown: tuple[Release, Installed] | None = None
        self._begun = 0

    def of(self, release: Release) -> Installed:
        """That of this version, begun if another one is there, or none."""
        if self._shown is None or self._shown[0] != release:
            self.clear()
            # why a new one each time: one that did not begin has left its folder
            self._begun += 1
            folder = self.folder / f"of-{release.root.name}-{self._begun}"
            folder.mkdir()
            made = self._held.enter_context(Installed.of(release, folder, self._network))
            self._shown = (release, made)
        return self._shown[1]

    def clear(self) -> None:
        self._shown = None
        self._held.close()

    def last_words(self) -> str:
        return self._shown[1].cluster.last_words() if self._shown else ""
