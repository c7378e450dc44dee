"""The program beside Envoy: fetches what should be, applies it, reports, samples the access log.

It needs no Django. Whatever fails here, Envoy serves on by its files.
"""

import dataclasses
import logging
import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path

from controlplane.gateway import tls
from controlplane.gateway.access_log import Sampler, Tail, parse
from controlplane.gateway.admin import EnvoyAdmin, EnvoyUnreachable
from controlplane.gateway.apply import Refusals, apply, keys_confirm
from controlplane.gateway.bootstrap import XDS, admin_socket, hold_socket, prepare
from controlplane.gateway.certificate import Certificate, trusted
from controlplane.gateway.control_client import ControlPlaneClient, ControlPlaneUnavailable
from controlplane.gateway.duties import TICK_S, BackOff, Timers
from controlplane.gateway.hold_server import HoldServer
from controlplane.gateway.keys import Trust, key_check, keys_of
from controlplane.gateway.own_requests import OwnRequests
from controlplane.gateway.seen import Chooser
from controlplane.gateway.serving_certificate import ServingCertificate
from controlplane.gateway.settings import GatewaySettings, SettingsError, load
from controlplane.gateway.waiting import SnapshotRefused
from controlplane.gateway.wake_ups import WakeUps
from controlplane.gateway.xds import XdsFolder
from wire import codec
from wire.messages import GatewayReport, GatewaySnapshot, LeftOut, Problem
from wire.proof import ProofDamaged
from wire.samples import GatewaySample

logger = logging.getLogger("controlplane.gateway.agent")

POLL_INTERVAL_S = 0.5  # without wake-ups
# With them: one that is lost delays a revoked key, which is promised to be refused after 5 s.
RESTING_POLL_S = 3.0
REPORT_INTERVAL_S = 2.0  # between looks at Envoy; what is as before is reported less often
CALL_ANEW_S = 5.0  # with nothing new: the control plane takes us for dead after 15
RESTING_SAMPLE_S = 15.0  # the same of samples, while there are none
RENEWAL_INTERVAL_S = 3600.0
CERTIFICATE_INTERVAL_S = 600.0
RETRY_REFUSED_S = 10.0
LONGEST_DRAIN_S = 3700.0  # Envoy's own takes an hour at most
MAX_LOG_BYTES = 64 << 20
MAX_UNSENT = 1000  # samples kept while the control plane is down


class GatewayAgent:
    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.xds = XdsFolder(settings.folder / XDS)
        self.admin = EnvoyAdmin(admin_socket(settings))
        self.client = ControlPlaneClient(
            settings.control_url, settings.token, trusted=trusted(settings.control_authority)
        )
        self.certificate = Certificate(
            settings.folder / "certificate.json",
            self.client,
            name=settings.name,
            via=settings.control_url,
        )
        self.serving_certificate = ServingCertificate(settings, self.client)
        self.wake_ups = WakeUps(self.client)
        self.hold_server = HoldServer(
            hold_socket(settings), self.client, admin_socket(settings), most=settings.most_held
        )
        self.tail = Tail(settings.folder / "access.log")
        self.sampler = Sampler()
        self.chooser = Chooser()
        self.own_requests = OwnRequests()
        # Empty until applied once by this process: applying what is already there changes no file.
        self.applied = ""
        self.error: Problem | None = None
        self._wanted: GatewaySnapshot | None = None
        self._accepted = self._read_last_good()
        if self._accepted is not None:
            self.hold_server.holding.limits = self._accepted.holds
        self._refusals = Refusals()
        self._left_out: tuple[LeftOut, ...] = ()
        self._waits = False  # for replicas of what was applied
        self._keys_version = ""
        self._trust = Trust(settings.trust_s)
        self._reported: GatewayReport | None = None
        self._unsent: deque[GatewaySample] = deque(maxlen=MAX_UNSENT)
        self._back_off = BackOff()
        self._timers = Timers()

    def run(self, stop: threading.Event) -> None:
        """Raises OSError: the socket where Envoy asks cannot be opened."""
        self.hold_server.start()
        self._introduce(time.monotonic())
        logger.info(
            "gateway agent ready: control plane %s, files in %s",
            self.settings.control_url,
            self.settings.folder,
        )
        while not stop.is_set():
            now = time.monotonic()
            self.step(now)
            backs_off = now < self._back_off.not_before
            self._rest(TICK_S if backs_off else self._timers.rest_s(time.monotonic()))
        if self.settings.leaves:
            self._leave()
        self.close()

    def _introduce(self, now: float) -> None:
        """Clients that come once we are ready see a certificate that they trust, where it can be
        had."""
        try:
            self._certificates(now)
        except ControlPlaneUnavailable as error:
            self._missed(now, error)

    def _leave(self) -> None:
        """Go on for as long as Envoy answers what it holds, by the newest keys; then say that this
        gateway is gone, so that nobody waits for its word."""
        until = time.monotonic() + LONGEST_DRAIN_S
        while self._envoy_answers():
            if time.monotonic() > until:
                logger.warning("Envoy has not ended within %.0f s: not left", LONGEST_DRAIN_S)
                return
            self.step(time.monotonic())
            time.sleep(TICK_S)
        try:
            self.client.leave()
        except ControlPlaneUnavailable as error:
            logger.warning("Left without a word: %s", error)

    def _envoy_answers(self) -> bool:
        try:
            self.admin.host_health()
        except EnvoyUnreachable:
            return False
        return True

    def close(self) -> None:
        self.wake_ups.close()
        self.hold_server.close()
        self.tail.close()
        self.client.close()
        self.admin.close()

    def step(self, now: float) -> None:
        """Every duty that is due at ``now`` (monotonic seconds)."""
        self._read_log()
        if now >= self._timers.renewal:
            self._timers.renewal = now + RENEWAL_INTERVAL_S
            self._renew_own_certificate()
        if now < self._back_off.not_before:
            return
        try:
            self._talk(now)
        except ControlPlaneUnavailable as error:
            self._missed(now, error)
        else:
            if self._back_off.succeeded():
                logger.info("The control plane answers again.")

    def _missed(self, now: float, error: ControlPlaneUnavailable) -> None:
        if self._back_off.failed(now):
            logger.warning("%s Serving goes on by the last configuration.", error)

    def _talk(self, now: float) -> None:
        self._certificates(now)
        if now >= self._timers.poll:
            self._fetch(now)
            self._converge(now)
        if now >= self._timers.report:
            self._timers.report = now + REPORT_INTERVAL_S
            self._report(now)
        if now >= self._timers.sample:
            self._send_samples(now)

    def _certificates(self, now: float) -> None:
        """Ours, and that of Envoy. Raises ControlPlaneUnavailable: we cannot prove who we are."""
        if now >= self._timers.certificate:
            self.certificate.show()
            self._timers.certificate = now + CERTIFICATE_INTERVAL_S
            self.wake_ups.start()
        if now >= self._timers.served:
            self._timers.served = now + self.serving_certificate.look()

    def _fetch(self, now: float) -> None:
        """What should be. Its keys act at once, whatever else is under way, and are believed on.

        Raises ControlPlaneUnavailable.
        """
        flow = self.wake_ups.flow
        self._timers.has_polled(now, RESTING_POLL_S if flow else POLL_INTERVAL_S)
        snapshot = self.client.snapshot(self._wanted.version if self._wanted else "")
        if snapshot is not None:
            self._wanted = snapshot
            self.hold_server.holding.limits = snapshot.holds
            self._timers.retry = 0.0
        if self._wanted is not None and (snapshot is not None or self._trust.is_due(time.time())):
            until = self._trust.renewed(time.time())
            check = key_check(keys_of(self._wanted), trusted_until=until)
            self._keys_version = self.xds.write_keys(check)

    def _rest(self, seconds: float) -> None:
        """So long, or until the control plane says that there is something new."""
        if self.wake_ups.heard.wait(seconds):
            self.wake_ups.heard.clear()
            self._timers.woken()

    def _pause(self, seconds: float) -> None:
        """While Envoy is waited for: a key that is renewed meanwhile does not wait too."""
        self._rest(seconds)
        now = time.monotonic()
        if now < max(self._timers.poll, self._back_off.not_before):
            return
        try:
            self._fetch(now)
        except ControlPlaneUnavailable as error:
            self._missed(now, error)

    def _converge(self, now: float) -> None:
        snapshot = self._wanted
        done = snapshot is None or (snapshot.version == self.applied and not self._waits)
        if snapshot is None or done or now < self._timers.retry:
            return
        try:
            self._apply(snapshot)
        except EnvoyUnreachable as error:
            self._note(Problem(code="EnvoyUnreachable", message=str(error)))
        except SnapshotRefused as error:
            self._note(
                Problem(
                    code="SnapshotRefused",
                    message=str(error),
                    hints=("Traffic is served by the configuration before.", "See envoy.log."),
                )
            )
            self._restore()
            self._timers.retry = now + RETRY_REFUSED_S
        self._timers.report = self._timers.report_anew = now
        if self._wanted is not snapshot:  # it came while Envoy was waited for: it is next, at once
            self._timers.poll, self._timers.retry = now, 0.0

    def _apply(self, snapshot: GatewaySnapshot) -> None:
        began = time.monotonic()
        found = apply(
            snapshot,
            self.xds,
            self.admin,
            accepted=self._accepted,
            refusals=self._refusals,
            sleep=self._pause,
        )
        # why of now and not of the snapshot: a newer one may have come meanwhile
        keys_confirm(self._keys_version, self.admin)
        self.applied, self._accepted = snapshot.version, found.accepted
        self._left_out = found.left_out
        self._waits = any(part.waits for part in found.left_out)
        self._timers.retry = time.monotonic() + RETRY_REFUSED_S if self._waits else 0.0
        self.error = None
        self._last_good.with_suffix(".new").write_bytes(codec.encode(found.accepted))
        self._last_good.with_suffix(".new").replace(self._last_good)
        logger.info(
            "applied %s: %d clusters, %.0f ms",
            snapshot.version[:12],
            len(snapshot.clusters),
            (time.monotonic() - began) * 1000,
        )
        for part in found.left_out:
            logger.error("left out of %s: %s", snapshot.version[:12], part)

    def _restore(self) -> None:
        """Back to the last accepted files, so that a restarted Envoy does not read refused ones."""
        if self._accepted is None:
            return
        try:
            apply(self._accepted, self.xds, self.admin, sleep=self._pause)
        except (SnapshotRefused, EnvoyUnreachable) as error:
            logger.error("The last good configuration could not be restored: %s", error)

    def _read_last_good(self) -> GatewaySnapshot | None:
        """What Envoy served by when the agent before ended; None where that is not known."""
        if not self._last_good.exists():
            return None
        try:
            return codec.decode(GatewaySnapshot, self._last_good.read_bytes())
        except codec.WireError as error:
            logger.error("The last good configuration cannot be read: %s", error)
            return None

    @property
    def _last_good(self) -> Path:
        return self.settings.folder / "snapshot.json"

    def _note(self, problem: Problem) -> None:
        if self.error is None or self.error.code != problem.code:
            logger.warning("%s: %s", problem.code, problem.message)
        self.error = problem

    def _report(self, now: float) -> None:
        health: dict[str, bool] = {}
        try:
            health = self.admin.host_health()
        except EnvoyUnreachable as error:
            self._note(Problem(code="EnvoyUnreachable", message=str(error)))
        else:
            if self.error is not None and self.error.code == "EnvoyUnreachable":
                self.error = None
        report = GatewayReport(
            name=self.settings.name,
            applied_version=self.applied,
            sent_at=0.0,
            healthy=self.error is None,
            error=self.error,
            host_health=health,
            left_out=self._left_out,
            served=self.serving_certificate.served(),
        )
        if report == self._reported and now < self._timers.report_anew:
            return
        self.client.report(dataclasses.replace(report, sent_at=time.time()))
        self._reported, self._timers.report_anew = report, now + CALL_ANEW_S

    def _read_log(self) -> None:
        for line in self.tail.lines():
            entry = parse(line)
            if entry is not None and not self.own_requests.has(entry):
                self.sampler.add(entry)
                self.chooser.add(entry)
        if self.tail.size() > MAX_LOG_BYTES:
            self.tail.rotate()
            try:
                self.admin.reopen_logs()
            except EnvoyUnreachable as error:
                logger.warning("Access log moved aside, but Envoy was not told: %s", error)

    def _send_samples(self, now: float) -> None:
        interval = now - self._timers.sampled_at
        at = time.time()
        taken = self.sampler.take(at, interval)
        self._unsent.extend(self.hold_server.holding.told(taken, at, interval))
        self._timers.sampled_at = now
        self._timers.sample = now + self._timers.sample_interval_s
        if not self._unsent and now < self._timers.sample_anew:
            return
        # why later where wake-ups arrive: one comes when somebody starts to watch
        self._timers.sample_anew = now + (RESTING_SAMPLE_S if self.wake_ups.flow else CALL_ANEW_S)
        # why also without samples: the answer says when somebody starts to watch.
        # why these are not kept for later: they are of a few of all, and others come
        reply = self.client.samples(tuple(self._unsent), self.chooser.take())
        self._timers.sample_interval_s = reply.sample_interval_s
        self.chooser.salt = reply.request_salt
        self.own_requests.key = reply.own_requests_key
        self._timers.sample = now + self._timers.sample_interval_s
        self._unsent.clear()

    def _renew_own_certificate(self) -> None:
        try:
            if tls.ensure(self.settings.tls_dir, self.settings.tls_names):
                logger.info("The gateway signed itself a certificate.")
        except (OSError, ValueError) as error:
            logger.error("The gateway's certificate could not be renewed: %s", error)


def main() -> int:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="{asctime} {levelname:<7} {name}: {message}",
        style="{",
    )
    for chatty in ("httpx", "uvicorn"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        settings = load()
        if not settings.token:
            raise SettingsError(
                "No gateway token: set SHOAL_GATEWAY_TOKEN or SHOAL_GATEWAY_TOKEN_FILE."
            )
        if not (settings.folder / "bootstrap.json").exists():
            prepare(settings)
    except (SettingsError, OSError) as error:
        logger.error("The gateway agent cannot start: %s", error)
        return 1
    try:
        agent = GatewayAgent(settings)
    except (ProofDamaged, OSError) as error:
        logger.error("The gateway agent cannot start: %s", error)
        return 1
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    agent.run(stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
