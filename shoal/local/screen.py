"""What `shoal up` shows: a line per program, then where everything is."""

from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.markup import escape


class Screen:
    """Prints to standard output; colour and the spinner only on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._status = self._console.status("Starting") if self._console.is_terminal else None

    def opening(self, home: Path) -> None:
        self._line(f"[bold]Shoal {version('shoal')}[/bold]  data in {escape(str(home))}")
        if self._status:
            self._status.start()

    def step(self, text: str) -> None:
        """What is being waited for now."""
        if self._status:
            self._status.update(escape(text))

    def ready(self, name: str, note: str, seconds: float) -> None:
        self._line(f"  [green]✓[/green] {name:<14}{seconds:6.1f} s  [dim]{escape(note)}[/dim]")

    def crashed(self, name: str, reason: str, delay_s: float) -> None:
        self._line(
            f"  [yellow]![/yellow] {name} {reason}; restarting in {delay_s:.1f} s (logs/{name}.log)"
        )

    def restarted(self, name: str, seconds: float) -> None:
        self._line(f"  [green]✓[/green] {name} is back after {seconds:.1f} s")

    def stopped(self, name: str) -> None:
        self._line(f"  [dim]- {name} stopped[/dim]")

    def notice(self, text: str) -> None:
        self._line(escape(text))

    def problem(self, text: str) -> None:
        self.still()
        self._line(f"[red]✗[/red] {escape(text)}")

    def addresses(self, rows: dict[str, str]) -> None:
        """The last thing printed at start: name and value, aligned."""
        self.still()
        self._line("")
        for name, value in rows.items():
            self._line(f"  [bold]{name:<12}[/bold] {escape(value)}")
        self._line("\n  Ctrl-C stops everything.\n")

    def still(self) -> None:
        """End the spinner."""
        if self._status:
            self._status.stop()

    def _line(self, text: str) -> None:
        self._console.print(text)
