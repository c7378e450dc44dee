"""A release of the chart on this machine: pods with their own networks, and what leads there."""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.production.containers import LOOK_S, Container, Release
from tests.production.network import Network, Pocket
from tests.production.services import Services
from tests.support.chart_programs import Place, Secrets, claim, secret_files
from tests.support.helm_chart import Document, name_of
from tests.support.runtime_process import wait_until

READY_S = 180.0


@dataclass
class Pod:
    kind: str  # web, worker, gateway, node-cpu, ...
    name: str
    template: Document
    pocket: Pocket
    containers: dict[str, Container]
    leaving: bool = False

    @property
    def ready(self) -> bool:
        return not self.leaving and all(one.ready for one in self.containers.values())

    @property
    def restarts(self) -> list[str]:
        return [
            f"{self.name}/{one.name} {why}"
            for one in self.containers.values()
            for why in one.restarts
        ]

    def file(self, container: str, path: str) -> Path:
        """A file of a container, here."""
        one = self.containers[container]
        return Path(one.place.here(one.document, path))

    def vanish(self) -> None:
        """As when its machine's power fails: no word to anybody, and nothing left."""
        self.leaving = True
        self.pocket.unplug()
        self.stop()

    def stop(self) -> None:
        for one in self.containers.values():
            one.stop_looking()
        deadline = time.monotonic() + READY_S
        while pids := self.pocket.pids():
            assert time.monotonic() < deadline, f"{self.name} does not end: {pids}"
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for one in self.containers.values():
                if one.process is not None:
                    one.process.poll()  # a child of ours is gone once it was waited for


@dataclass
class Cluster:
    """``documents`` are what Helm renders of the chart of ``release``."""

    folder: Path
    documents: tuple[Document, ...]
    secrets: Secrets
    network: Network
    release: Release
    pods: list[Pod] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._owners = {
            name_of(document): document
            for document in self.documents
            if document["kind"] in ("Deployment", "DaemonSet", "Job")
        }
        self._numbers = itertools.count(1)
        services = [document for document in self.documents if document["kind"] == "Service"]
        self.services = Services(self.folder / "services", services, self.network)
        self._led: list[str] = []
        self._ended = threading.Event()
        self._leader = threading.Thread(target=self._keep_leading, daemon=True)
        self._leader.start()

    def close(self) -> None:
        self._ended.set()
        self._leader.join()
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(Pod.stop, self.pods))
        for pod in self.pods:
            pod.pocket.close()
        self.services.close()

    # Of kinds of pods

    def of(self, kind: str) -> list[Pod]:
        """Those that stay."""
        return [pod for pod in self.pods if pod.kind == kind and not pod.leaving]

    def kinds(self) -> list[str]:
        """All that last, in the order of the chart."""
        return [name for name, owner in self._owners.items() if owner["kind"] != "Job"]

    def job(self, kind: str) -> str:
        """Run a Job to its end; what it said."""
        pod = self._pod(kind)
        (container,) = pod.containers.values()
        done = container.run()
        assert done.returncode == 0, f"{kind} ended with {done.returncode}:\n{done.stderr}"
        pod.leaving = True
        return done.stdout

    def install(self) -> str:
        """As `helm install` does: the set-up, then everything else. What the set-up said."""
        said = self.job("setup")
        kinds = [kind for kind in self.kinds() for _ in range(self.replicas(kind))]
        self.await_ready(self.create(kind) for kind in kinds)
        return said

    def replicas(self, kind: str) -> int:
        return int(self._owners[kind]["spec"].get("replicas", 1))

    # Of one pod

    def create(self, kind: str, release: Release | None = None) -> Pod:
        """One more pod of a kind; it is not awaited."""
        pod = self._pod(kind, release)
        for document in pod.template["spec"].get("initContainers", []):
            done = self._container(pod.name, document, pod, release).run()
            assert done.returncode == 0, f"{pod.name}: {done.stderr}"
        for container in pod.containers.values():
            container.start()
        return pod

    def await_ready(self, pods: Iterable[Pod], within_s: float = READY_S) -> None:
        for pod in list(pods):
            wait_until(lambda pod=pod: pod.ready, f"{pod.name} is ready", within_s)

    def delete(self, pod: Pod) -> None:
        """It leaves the Services, runs its hooks, is told to end, and has ended."""
        pod.leaving = True
        wait_until(lambda: pod.name not in self._led, f"{pod.name} is led to no more")
        with ThreadPoolExecutor(len(pod.containers)) as threads:
            list(threads.map(Container.leave, pod.containers.values()))
        pod.stop()

    def roll(self, kind: str, release: Release) -> None:
        """A rolling upgrade with `maxSurge: 1`: another one is ready before one goes."""
        for old in self.of(kind):
            self.await_ready([self.create(kind, release)])
            self.delete(old)

    def restarts(self) -> list[str]:
        return [line for pod in self.pods for line in pod.restarts]

    def last_words(self) -> str:
        parts = (
            f"== {pod.name}/{one.name} {one.restarts}\n{one.last_words}"
            for pod in self.pods
            for one in pod.containers.values()
        )
        return "\n".join(parts)

    # How they are made

    def _pod(self, kind: str, release: Release | None = None) -> Pod:
        name = f"shoal-{kind}-{next(self._numbers)}"
        template = self._owners[kind]["spec"]["template"]
        pod = Pod(kind, name, template, self.network.pocket(), {})
        for document in template["spec"]["containers"]:
            pod.containers[document["name"]] = self._container(name, document, pod, release)
        self.pods.append(pod)
        return pod

    def _container(
        self, name: str, document: Document, pod: Pod, release: Release | None
    ) -> Container:
        volumes = {
            volume["name"]: self._volume(name, volume) for volume in pod.template["spec"]["volumes"]
        }
        place = Place(name, pod.pocket.address, f"machine-{name}", volumes)
        log = self.folder / name / f"{document['name']}.log"
        used = release or self.release
        return Container(document, place, pod.pocket, self.secrets, used, log)

    def _volume(self, name: str, volume: Document) -> Path:
        shared = claim(volume)
        folder = self.folder / "claims" / shared if shared else self.folder / name / volume["name"]
        folder.mkdir(parents=True, exist_ok=True)
        if "secret" in volume:
            for path, content in secret_files(volume, self.secrets).items():
                (folder / path).write_text(content)
        return folder

    def _keep_leading(self) -> None:
        while not self._ended.wait(LOOK_S):
            ready = [pod for pod in list(self.pods) if pod.ready]
            names = [pod.name for pod in ready]
            if names != self._led:
                self.services.lead((pod.template, pod.pocket.address) for pod in ready)
                self._led = names


def kept_pids(pod: Pod, found: Callable[[str], bool]) -> dict[int, str]:
    """The processes of a pod whose command line is ``found``, with it."""
    lines = {}
    for pid in pod.pocket.pids():
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if found(line):
                lines[pid] = line
    return lines
