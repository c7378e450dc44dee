"""The rules that are built in: what each looks at, from where on it is broken, and what to do.

Thresholds, times and severities may be changed (``AlertRuleRow``); the rest may not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from controlplane.alerts.types import Severity, ThresholdKind

RUNBOOKS: Final = "docs/runbooks"
OF_ENDPOINTS: Final = (ThresholdKind.PROJECT, ThresholdKind.ENDPOINT)
OF_NODES: Final = (ThresholdKind.NODE,)


@dataclass(frozen=True, slots=True)
class Rule:
    """Broken where a value is above ``threshold`` (``below``: under it), and whole again where it
    is back by ``margin`` of the threshold: a value at the threshold does not flap."""

    name: str
    title: str
    severity: Severity
    about: str  # what is looked at, as a sentence
    unit: str  # of the threshold; empty: it has none
    threshold: float
    for_s: int  # broken for so long before it fires
    clear_s: int  # whole for so long before it is resolved
    steps: tuple[str, ...]  # the runbook
    margin: float = 0.0
    below: bool = False
    least: float = 0.0
    most: float = 1e9
    kinds: tuple[ThresholdKind, ...] = OF_ENDPOINTS  # what may have a threshold of its own

    @property
    def runbook(self) -> str:
        return f"{RUNBOOKS}/{self.name}.md"


_ALL: Final = (
    Rule(
        name="objective-fast-burn",
        title="Error budget burns fast",
        severity=Severity.PAGE,
        about="The objective's burn rate over 1 h and 5 min is above 14.4, or over 6 h and 30 min "
        "above 6.",
        unit="requests at least",
        threshold=10,
        least=1,
        for_s=0,
        clear_s=120,
        steps=(
            "Open the endpoint's page: which answers fail (5xx), or which phase is slow, and since "
            "when.",
            "A change at that moment? Roll the deployment back (`shoal online-deployment rollback`)"
            " or abort the rollout (`shoal rollout abort`).",
            "No change: read the logs of its replicas (`shoal logs`), and look at queue and "
            "instances; scale it where requests wait.",
        ),
    ),
    Rule(
        name="objective-slow-burn",
        title="Error budget burns slowly",
        severity=Severity.TICKET,
        about="The objective's burn rate over 3 days and 6 h is above 1.",
        unit="requests at least",
        threshold=10,
        least=1,
        for_s=0,
        clear_s=600,
        steps=(
            "The budget will not last: look at the chart of the objective for when it began.",
            "Find what fails or is slow now and then: answers by class and the logs of replicas.",
            "Mend it, or change the objective, if it promises more than is needed.",
        ),
    ),
    Rule(
        name="endpoint-unavailable",
        title="Endpoint without a ready replica",
        severity=Severity.PAGE,
        about="No deployment with traffic has a ready replica. Endpoints that are stopped, idle or "
        "being deployed count as in order.",
        unit="",
        threshold=0,
        kinds=(),
        for_s=60,
        clear_s=15,
        steps=(
            "The page of the deployment says of each replica why it does not serve; its logs have "
            "the last lines.",
            "Nodes gone? `shoal node list`; replicas are placed on others after "
            "SHOAL_NODE_LOST_AFTER_S, if there is room.",
            "A version that does not load: move the traffic to the one before "
            "(`shoal traffic ENDPOINT NAME=100`), or roll back.",
        ),
    ),
    Rule(
        name="replica-restarting",
        title="Replicas restart again and again",
        severity=Severity.TICKET,
        about="Replicas of one deployment were started again so often in the last ten minutes.",
        unit="restarts in 10 min",
        threshold=3,
        most=1000,
        for_s=0,
        clear_s=600,
        steps=(
            "Read the last lines before each end: `shoal logs ENDPOINT -d DEPLOYMENT`.",
            "Killed for memory: give it an instance type with more, or fewer instances of the "
            "model.",
            "A crash of the model: roll back to the revision before.",
        ),
    ),
    Rule(
        name="queue-slow",
        title="Requests wait long in the queue",
        severity=Severity.TICKET,
        about="Mean wait in the queues of a deployment's replicas over the last five minutes.",
        unit="ms",
        threshold=500,
        least=1,
        margin=0.2,
        for_s=120,
        clear_s=120,
        steps=(
            "More comes in than is answered: scale the deployment, or give it a policy "
            "(docs/autoscaling.md).",
            "Look whether instances are at work all the time (`busy`); if not, look at batching "
            "delays in the model's configuration.",
        ),
    ),
    Rule(
        name="input-drift",
        title="Data has moved away from its baseline",
        severity=Severity.TICKET,
        about="The largest population stability index of a deployment's inputs and outputs over "
        "the baseline's window, 24 hours unless it says otherwise, of those that moved by more "
        "than chance.",
        unit="PSI",
        threshold=0.25,
        least=0.01,
        most=100,
        margin=0.2,
        for_s=600,
        clear_s=600,
        steps=(
            "`shoal capture stats ENDPOINT DEPLOYMENT` shows which feature moved, its range and "
            "its missing values; the endpoint's tab Data has its histogram beside the baseline's.",
            "New values all at once: look for a change at who calls (units, a default, an encoding)"
            ". `shoal capture download` has the requests.",
            "The world has changed: check the answers (`shoal test run`, labels), train anew; then "
            "set a baseline of today's data (`shoal capture baseline`).",
        ),
    ),
    Rule(
        name="node-silent",
        title="Node is silent",
        severity=Severity.TICKET,
        about="Seconds since the node's agent was last heard of.",
        unit="s",
        threshold=60,
        least=10,
        kinds=OF_NODES,
        for_s=0,
        clear_s=30,
        steps=(
            "Is the machine up, and does its agent run? What serves there goes on without it.",
            "Can it reach the control plane (SHOAL_CONTROL_URL)? Its agent's log says so.",
            "Gone for good: `shoal node remove --force NAME`.",
        ),
    ),
    Rule(
        name="gateway-silent",
        title="Gateway is silent",
        severity=Severity.PAGE,
        about="Seconds since the gateway's agent was last heard of.",
        unit="s",
        threshold=60,
        least=15,
        kinds=(),
        for_s=0,
        clear_s=30,
        steps=(
            "It serves on by its files, but hears of no revoked key and no new deployment.",
            "Look at the log of its agent; is the port of agents reachable from there?",
            "Gone for good: `shoal gateway remove NAME`.",
        ),
    ),
    Rule(
        name="disk-nearly-full",
        title="Disk nearly full",
        severity=Severity.TICKET,
        about="Share of the disk that is used: of each node's cache, and of the control plane's "
        "folders.",
        unit="% used",
        threshold=90,
        least=1,
        most=100,
        kinds=OF_NODES,
        margin=0.03,
        for_s=60,
        clear_s=60,
        steps=(
            "Control plane: remove what nobody uses under Settings, Storage.",
            "Node: its cache gives way by itself; look for what else fills that disk.",
            "Give it more room.",
        ),
    ),
    Rule(
        name="certificate-ends",
        title="Certificate ends soon",
        severity=Severity.TICKET,
        about="Days until it ends: certificates of gateways, of agents, and the authorities that "
        "sign what clients see.",
        unit="days left",
        threshold=14,
        least=1,
        most=365,
        kinds=OF_NODES,
        below=True,
        for_s=0,
        clear_s=0,
        steps=(
            "Agents and gateways renew their own: one that does not has lost the control plane, or "
            "was refused; its log says which.",
            "One that you supplied: put a renewed one in its place "
            "(docs/gateway.md, Certificates).",
        ),
    ),
)
RULES: Final[Mapping[str, Rule]] = {rule.name: rule for rule in _ALL}


INSTALLATION: Final = "installation"


@dataclass(frozen=True, slots=True)
class Limit:
    """The threshold that counts for one thing, and whose it is: ``endpoint/quote``,
    ``project/vision``, ``node/local`` or ``installation``."""

    value: float
    source: str

    @property
    def told(self) -> str:
        """As sentences end: ``500 ms is the limit``, with whose it is, unless all have it."""
        of = "" if self.source == INSTALLATION else f" of {self.source.replace('/', ' ', 1)}"
        return f"is the limit{of}"


@dataclass(frozen=True, slots=True)
class Settings:
    """A rule as it is to be applied. ``thresholds``: of those who have their own."""

    rule: Rule
    enabled: bool
    threshold: float
    for_s: int
    severity: Severity
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def limit(self, subject: str, project: str | None = None) -> Limit:
        """What counts for the subject: its own, else its project's, else the installation's."""
        for source in (subject, f"{ThresholdKind.PROJECT}/{project}"):
            if source in self.thresholds:
                return Limit(self.thresholds[source], source)
        return Limit(self.threshold, INSTALLATION)


def broken(rule: Rule, limit: float, value: float, firing: bool) -> bool:
    """Whether ``value`` breaks the rule; a firing one needs more to be whole than to break."""
    if firing:
        limit += abs(limit) * rule.margin * (1 if rule.below else -1)
    return value < limit if rule.below else value > limit
