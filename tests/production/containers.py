"""A container of a pod as a process, looked after as the kubelet does: started again, probed."""

import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx
import psutil

from tests.production.network import Pocket
from tests.support.chart_programs import Place, Secrets, stop_signal
from tests.support.helm_chart import Document
from tests.support.reaper import clean_environment
from tests.support.runtime_process import wait_until

LOOK_S = 0.25
RESTART_AFTER_S = 1.0
COMMAND_S = 180.0  # of one that ends


@dataclass(frozen=True)
class Release:
    """One version of Shoal: its code, and the programs that run it."""

    root: Path
    bin: Path

    @property
    def variables(self) -> dict[str, str]:
        return {"PATH": f"{self.bin}:{os.environ['PATH']}"}


@dataclass
class Probe:
    """One of a container's, with what Kubernetes takes where the chart says nothing."""

    kind: str  # startup, readiness, liveness
    asked: Document
    due: float  # monotonic seconds
    failures: int = 0

    @classmethod
    def of(cls, kind: str, asked: Document) -> Self:
        return cls(kind, asked, time.monotonic() + float(asked.get("initialDelaySeconds", 0)))

    @property
    def timeout_s(self) -> float:
        return float(self.asked.get("timeoutSeconds", 1))

    @property
    def failed(self) -> bool:
        return self.failures >= int(self.asked.get("failureThreshold", 3))

    def count(self, *, good: bool) -> None:
        self.failures = 0 if good else self.failures + 1
        self.due = time.monotonic() + float(self.asked.get("periodSeconds", 10))


@dataclass
class Container:
    """``name`` within ``place``; ``release`` may be changed between two starts."""

    document: Document
    place: Place
    pocket: Pocket
    secrets: Secrets
    release: Release
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    ready: bool = False
    restarts: list[str] = field(default_factory=list)  # why it was started again

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._look_after, daemon=True)

    @property
    def name(self) -> str:
        return str(self.document["name"])

    # What people and Kubernetes do to it

    def run(self, command: list[str] | None = None) -> "subprocess.CompletedProcess[str]":
        """To its end: an init container, or another command in a running one."""
        argv, told = self._program(command)
        return subprocess.run(
            argv,
            env=told,
            cwd=self.release.root,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )

    def start(self) -> None:
        self._spawn()
        self._thread.start()

    def leave(self) -> None:
        """Its preStop hook, then its image's signal; waits for its end, however long that takes."""
        hook = self.document.get("lifecycle", {}).get("preStop")
        if hook is not None:
            done = self.run(hook["exec"]["command"])
            assert done.returncode == 0, f"{self.place.name}: {done.stdout}{done.stderr}"
        self.stop_looking()
        self.end(signal.Signals[stop_signal(self.document)])

    def end(self, by: signal.Signals, within_s: float = 90.0) -> None:
        assert self.process is not None
        self.process.send_signal(by)
        self.process.wait(within_s)

    def kill(self) -> None:
        """SIGKILL, to all that it is, until its sockets are closed; the kubelet starts it again."""
        family = self.family()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        wait_until(lambda: not any(_lives(process) for process in family), "they have ended")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """SIGSTOP, to all that it is, until the block ends."""
        family = self.family()
        for process in family:
            process.suspend()
        try:
            yield
        finally:
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def family(self) -> list[psutil.Process]:
        """Its first process, and all that this started."""
        assert self.process is not None
        first = psutil.Process(self.process.pid)
        return [first, *first.children(recursive=True)]

    def renew(self, release: Release, by: signal.Signals = signal.SIGTERM) -> None:
        """The process alone ends in order and comes again with other code; its files stay."""
        with self._lock:
            self.end(by)
            self.release, self.ready = release, False
            self._spawn()

    def stop_looking(self) -> None:
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(COMMAND_S)
        self.ready = False

    @property
    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""

    # The kubelet

    def _look_after(self) -> None:
        watched, probes = None, dict[str, Probe]()
        while not self._ended.wait(LOOK_S):
            with self._lock:
                assert self.process is not None
                if (code := self.process.poll()) is not None:
                    self._again(f"ended with {code}")
                if self.process is not watched:
                    watched, probes = self.process, self._probes()
                    self.ready = "readiness" not in probes
            # until it has started, nothing else is asked
            asked = [probes["startup"]] if "startup" in probes else list(probes.values())
            for probe in asked:
                if probe.due > time.monotonic():
                    continue
                good = self._succeeds(probe)
                if self.process is not watched or self._ended.is_set():
                    break  # that was of one that is no more
                probe.count(good=good)
                if good and probe.kind == "startup":
                    del probes["startup"]
                self._act_on(probe, good=good)

    def _probes(self) -> dict[str, Probe]:
        kinds = ("startup", "readiness", "liveness")
        return {
            kind: Probe.of(kind, self.document[f"{kind}Probe"])
            for kind in kinds
            if f"{kind}Probe" in self.document
        }

    def _act_on(self, probe: Probe, *, good: bool) -> None:
        if probe.kind == "readiness":
            self.ready = good or (self.ready and not probe.failed)
        elif probe.failed:
            with self._lock:
                assert self.process is not None
                self.kill()
                self.process.wait()
                self._again(f"its {probe.kind} probe failed {probe.failures} times")

    def _again(self, why: str) -> None:
        self.restarts.append(why)
        self.ready = False
        if not self._ended.wait(RESTART_AFTER_S):
            self._spawn()

    def _succeeds(self, probe: Probe) -> bool:
        if "exec" in probe.asked:
            argv, told = self._program(probe.asked["exec"]["command"])
            try:
                return not subprocess.run(
                    argv,
                    env=told,
                    cwd=self.release.root,
                    capture_output=True,
                    timeout=probe.timeout_s,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                return False
        kind = "httpGet" if "httpGet" in probe.asked else "tcpSocket"
        asked = probe.asked[kind]
        ports = {port["name"]: port["containerPort"] for port in self.document["ports"]}
        place = (self.place.address, int(ports[asked["port"]]))
        try:
            if kind == "tcpSocket":
                socket.create_connection(place, probe.timeout_s).close()
                return True
            url = f"{asked.get('scheme', 'HTTP').lower()}://{place[0]}:{place[1]}{asked['path']}"
            answer = httpx.get(url, verify=_UNVERIFIED, trust_env=False, timeout=probe.timeout_s)
            return answer.is_success or answer.is_redirect
        except (OSError, httpx.TransportError):
            return False

    def _spawn(self) -> None:
        argv, told = self._program(None)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                argv,
                env=told,
                cwd=self.release.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _program(self, command: list[str] | None) -> tuple[list[str], dict[str, str]]:
        argv = self.place.argv(self.document, command)
        told = self.place.variables(self.document, self.secrets)
        host = {"HOSTNAME": self.place.name}
        return self.pocket.within(argv), {
            **clean_environment(),
            **self.release.variables,
            **host,
            **told,
        }


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _unverified() -> ssl.SSLContext:
    """The kubelet believes any certificate."""
    found = ssl.create_default_context()
    found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
    return found


_UNVERIFIED = _unverified()
