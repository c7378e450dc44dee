"""A release of the chart on this machine: pods with their own networks, and what leads there."""

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.production.containers import LOOK_S, Container, Release
from tests.production.network import Network, Pocket
from tests.production.services import Services
from tests.support.chart_programs import Place, Secrets, claim, secret_files
from tests.support.helm_chart import CHART, POD_OWNERS, ROOT, Document, name_of, rendered
from tests.support.runtime_process import wait_until

READY_S = 180.0


@dataclass
class Pod:
    kind: str  # web, worker, gateway, node-cpu, ...
    name: str
    template: Document
    pocket: Pocket
    release: Release
    containers: dict[str, Container] = field(default_factory=dict)
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
    """An installation of ``values``, that began with the chart and the code of ``release``."""

    folder: Path
    values: Path
    secrets: Secrets
    network: Network
    release: Release
    pods: list[Pod] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._numbers = itertools.count(1)
        documents = self._documents(self.release)
        services = [document for document in documents if document["kind"] == "Service"]
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
        owners = self._owners(self.release)
        return [name for name, owner in owners.items() if owner["kind"] != "Job"]

    def job(self, kind: str, release: Release | None = None) -> str:
        """Run a Job to its end; what it said."""
        done = self.try_job(kind, release)
        assert done.returncode == 0, f"{kind} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def try_job(
        self, kind: str, release: Release | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """The same, if it fails as well."""
        pod = self._pod(kind, release or self.release)
        (container,) = pod.containers.values()
        pod.leaving = True
        return container.run()

    def install(self) -> str:
        """As `helm install` does: the set-up, then everything else. What the set-up said."""
        said = self.job("setup")
        owners = self._owners(self.release)
        kinds = [
            kind for kind in self.kinds() for _ in range(owners[kind]["spec"].get("replicas", 1))
        ]
        self.await_ready(self.create(kind) for kind in kinds)
        return said

    def _documents(self, release: Release) -> tuple[Document, ...]:
        return rendered(self.values, release.root / CHART.relative_to(ROOT))

    def _owners(self, release: Release) -> dict[str, Document]:
        """What makes pods, by its name."""
        found = self._documents(release)
        return {name_of(one): one for one in found if one["kind"] in POD_OWNERS}

    # Of one pod

    def create(self, kind: str, release: Release | None = None) -> Pod:
        """One more pod of a kind; it is not awaited."""
        pod = self._pod(kind, release or self.release)
        for document in pod.template["spec"].get("initContainers", []):
            done = self._container(document, pod).run()
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

    def roll_all(self, kinds: Iterable[str], release: Release) -> None:
        """Several at once, as `helm upgrade` begins them."""
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda kind: self.roll(kind, release), kinds))

    def restarts(self) -> list[str]:
        """Of all pods there were: which container was started again, and why."""
        return [line for pod in self.pods for line in pod.restarts]

    def last_words(self) -> str:
        parts = (
            f"== {pod.name}/{one.name} {one.restarts}\n{one.last_words}"
            for pod in self.pods
            for one in pod.containers.values()
        )
        return "\n".join(parts)

    # How they are made

    def _pod(self, kind: str, release: Release) -> Pod:
        name = f"shoal-{kind}-{next(self._numbers)}"
        template = self._owners(release)[kind]["spec"]["template"]
        pod = Pod(kind, name, template, self.network.pocket(), release)
        for document in template["spec"]["containers"]:
            pod.containers[document["name"]] = self._container(document, pod)
        self.pods.append(pod)
        return pod

    def _container(self, document: Document, pod: Pod) -> Container:
        volumes = {
            volume["name"]: self._volume(pod.name, volume)
            for volume in pod.template["spec"]["volumes"]
        }
        place = Place(pod.name, pod.pocket.address, f"machine-{pod.name}", volumes)
        log = self.folder / pod.name / f"{document['name']}.log"
        return Container(document, place, pod.pocket, self.secrets, pod.release, log)

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
