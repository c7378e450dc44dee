"""What `make chaos` prints: one line per case."""

from dataclasses import dataclass, field

from tests.chaos.load import Load


@dataclass
class Case:
    """Filled in by a test; whether it passed is pytest's word."""

    name: str
    outcome: str = ""
    loads: list[Load] = field(default_factory=list)

    def under(self, load: Load) -> Load:
        """Count this load's requests in the table."""
        self.loads.append(load)
        return load

    def saw(self, outcome: str) -> None:
        self.outcome = f"{self.outcome}; {outcome}" if self.outcome else outcome


@dataclass
class Table:
    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def add(self, case: Case, verdict: str, why: str) -> None:
        sent = str(sum(load.sent for load in case.loads)) if case.loads else "-"
        lost = str(sum(load.lost for load in case.loads)) if case.loads else "-"
        outcome = "; ".join(part for part in (case.outcome, why) if part)
        self.rows.append((case.name, verdict, sent, lost, outcome))

    def lines(self) -> list[str]:
        head = ("case", "verdict", "sent", "lost", "outcome")
        rows = [head, *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return [
            "  ".join([*(row[i].ljust(widths[i]) for i in range(4)), row[4]]).rstrip()
            for row in rows
        ]
