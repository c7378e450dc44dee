"""An installation and who uses it: its administrator, and callers of its endpoints."""

import json
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.chaos.studio import Studio, until
from tests.production.calls import Calls, Reads
from tests.production.cluster import Cluster, Pod
from tests.production.containers import Release
from tests.production.neighbours import Neighbours, neighbours
from tests.production.network import Network
from tests.support.helm_chart import CHART, NAMESPACE, ROOT, rendered

VALUES = Path(__file__).with_name("values.yaml")
STUDIO = "http://shoal-web:8080"
SCORING = f"https://shoal-gateway.{NAMESPACE}.svc"
THIS = Release(ROOT, Path(sys.executable).parent)
NODES = 3


@dataclass
class Installed:
    cluster: Cluster
    neighbours: Neighbours
    studio: Studio
    trust: ssl.SSLContext  # the authority of the gateways
    authority: Path  # the same as a file
    said: str  # by the set-up

    @classmethod
    @contextmanager
    def of(cls, release: Release, folder: Path, network: Network) -> Iterator[Self]:
        """The chart of a version with its own programs, until all that it starts is ready."""
        chart = release.root / CHART.relative_to(ROOT)
        with neighbours(folder) as beside:
            documents = rendered(VALUES, chart)
            cluster = Cluster(folder / "pods", documents, beside.secrets, network, release)
            try:
                said = cluster.install()
                (setup,) = [pod for pod in cluster.pods if pod.kind == "setup"]
                kept = json.loads(setup.file("setup", "/data/setup.json").read_text())
                studio = Studio(STUDIO, kept["local_token"])
                until(lambda: _online(studio) == NODES, "all nodes are online")
                authority = folder / "ca.pem"
                authority.write_text(studio.get("/ca")["certificates"])
                trust = ssl.create_default_context(cafile=authority)
                yield cls(cluster, beside, studio, trust, authority, said)
            finally:
                cluster.close()

    # Calling

    def reads(self, path: str = "/endpoints") -> Reads:
        """Callers of the studio's API by way of the proxy, not yet started."""
        token = self.studio.http.headers["Authorization"].removeprefix("Bearer ")
        return Reads(f"{STUDIO}/api/v1{path}", token)

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


def _online(studio: Studio) -> int:
    found = studio.patiently("/nodes") or {"items": []}
    return sum(node["state"] == "online" for node in found["items"])


class Stage:
    """At most one installation at a time: all of them are reached by the same names."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder, self._network = folder, network
        self._held = ExitStack()
        self._shown: tuple[Release, Installed] | None = None

    def of(self, release: Release) -> Installed:
        """That of this version, begun if another one is there, or none."""
        if self._shown is None or self._shown[0] != release:
            self.clear()
            folder = self.folder / f"of-{release.root.name}"
            folder.mkdir()
            made = self._held.enter_context(Installed.of(release, folder, self._network))
            self._shown = (release, made)
        return self._shown[1]

    def clear(self) -> None:
        self._shown = None
        self._held.close()

    def last_words(self) -> str:
        return self._shown[1].cluster.last_words() if self._shown else ""
