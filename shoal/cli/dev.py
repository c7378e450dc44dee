"""``shoal dev``: serve what somebody works on, and what it becomes with each change."""

from pathlib import Path

import click

from shoal.dev import DEBUG_PORT

HTTP_PORT, GRPC_PORT, METRICS_PORT = 8000, 8001, 8002


@click.command(short_help="Serve a model from its folder while you work on it.")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", "-n", default="", help="Of the model; default: as the file or folder.")
@click.option("--port", default=HTTP_PORT, show_default=True, help="HTTP; 0 picks a free one.")
@click.option("--grpc-port", default=GRPC_PORT, show_default=True, help="gRPC; 0 picks a free one.")
@click.option("--metrics-port", default=METRICS_PORT, show_default=True, help="Metrics, likewise.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--debug", is_flag=True, help="Let debuggers attach to Python models.")
@click.option(
    "--debug-port",
    default=DEBUG_PORT,
    show_default=True,
    help="Of the first Python process; others have the next ones.",
)
@click.option("--verbose", is_flag=True, help="All that the server logs.")
def dev(
    path: Path,
    flags: tuple[str, ...],
    name: str,
    port: int,
    grpc_port: int,
    metrics_port: int,
    host: str,
    debug: bool,
    debug_port: int,
    verbose: bool,
) -> int:
    """Serve a model on this machine, without an installation, until Ctrl-C.

    PATH is a model file, a model's folder or a repository of models. What changes there is served
    within a second; a change that does not load is told, and the model before serves on. Each
    request is printed with the time that it took.

    \b
      shoal dev model.onnx
      shoal dev my_model --port 9000
      shoal dev . --debug                      VS Code attaches at port 5678
      shoal dev models -- --log-verbose=1      flags of the server stand behind --
    """
    import signal
    import tempfile

    from shoal.cli.report import note
    from shoal.dev.repository import repository_of
    from shoal.dev.runtime import debug_flag
    from shoal.dev.server import DevServer
    from shoal.dev.talk import Talk

    addresses = {"http": port, "grpc": grpc_port, "metrics": metrics_port}
    given = [f"--{kind}-port={number}" for kind, number in addresses.items()]
    given += [f"--{kind}-address={host}" for kind in addresses]
    given += [debug_flag(debug_port)] if debug else []
    with tempfile.TemporaryDirectory(prefix="shoal-dev-") as folder:
        work = Path(folder)
        (work / "models").mkdir()
        repository = repository_of(path, work / "models", name)
        talk = Talk(host, everything=verbose)
        server = DevServer(repository, work, [*given, *flags], talk.said, talk.asked)
        talk.follow(server)
        # why both: a shell that starts this with `&` leaves SIGINT ignored
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        try:
            while (code := server.wait(1.0)) is None:
                pass
        except KeyboardInterrupt:
            note("Stopping.")
        finally:
            code = server.stop()
    return code
