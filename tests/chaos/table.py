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

    def figures(self) -> tuple[str, ...]:
        """What is said in the columns of its table, between verdict and outcome."""
        if not self.loads:
            return ("-", "-")
        sent, lost = (sum(load.sent for load in self.loads), sum(load.lost for load in self.loads))
        return (str(sent), str(lost))

    def saw(self, outcome: str) -> None:
        self.outcome = f"{self.outcome}; {outcome}" if self.outcome else outcome


@dataclass
class Table:
    columns: tuple[str, ...] = ("sent", "lost")
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, case: Case, verdict: str, why: str) -> None:
        outcome = "; ".join(part for part in (case.outcome, why) if part)
        self.rows.append((case.name, verdict, *case.figures(), outcome))

    def lines(self) -> list[str]:
        rows = [("case", "verdict", *self.columns, "outcome"), *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.columns) + 2)]
        return [
            "  ".join([*(row[i].ljust(width) for i, width in enumerate(widths)), row[-1]]).rstrip()
            for row in rows
        ]
