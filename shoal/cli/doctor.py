"""``shoal doctor``: looks at everything a call passes through, and says what to do."""

import click

from shoal.cli.output import emit, output_option

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red")}


@click.command(short_help="Look at everything a call passes through.")
@output_option
def doctor(output: str) -> int:
    """Check the installation from here: studio, broker, clock, TLS, sockets, nodes, disk.

    Exit code 1 if something is wrong.
    """
    from shoal.cli.checks import examine

    findings = examine()

    def table() -> None:
        for finding in findings:
            mark, colour = MARKS[finding.status]
            click.echo(f"{click.style(mark, fg=colour)} {finding.subject}: {finding.text}")
            if finding.remedy:
                click.echo(f"    {finding.remedy}")

    emit([finding.shown() for finding in findings], output, table)
    return 1 if any(finding.status == "failed" for finding in findings) else 0
