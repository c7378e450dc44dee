"""``shoal proxy``: local ports for clients without header or TLS options."""

import signal
import threading

import click

HTTP_PORT, GRPC_PORT = 8000, 8001


@click.command(short_help="Serve an endpoint on local ports, without key and TLS.")
@click.argument("endpoint")
@click.option("--port", default=HTTP_PORT, show_default=True, help="HTTP; 0 picks a free one.")
@click.option("--grpc-port", default=GRPC_PORT, show_default=True, help="gRPC; 0 picks a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--deployment", "-d", help="Always this deployment, whatever the traffic says.")
def proxy(endpoint: str, port: int, grpc_port: int, host: str, deployment: str | None) -> None:
    """Serve an endpoint on local ports, without key and TLS, until Ctrl-C.

    \b
      shoal proxy net &
      perf_analyzer -m net -u 127.0.0.1:8000
      image_client.py -m net -u 127.0.0.1:8001 -i grpc cat.jpg

    Whoever reaches these ports can call the endpoint: keep --host to this machine.
    """
    from shoal.cli.report import note
    from shoal.client import Client, ShoalError
    from shoal.proxy import grpc, http
    from shoal.sdk.scoring import authority, trust

    with Client() as client:
        shown, key = client.get_endpoint(endpoint), client.get_keys(endpoint)["primaryKey"]
        trusted = authority(client, shown["ca_path"])
    target = http.Target(shown["scoring_uri"], key, trust(trusted), deployment)
    metadata = [(grpc.ENDPOINT, endpoint), ("authorization", f"Bearer {key}")]
    if deployment:
        metadata.append((grpc.PIN, deployment))
    try:
        web = http.serve(target, host, port)
        calls, bound = grpc.serve(
            shown["grpc_target"],
            trusted.encode() or None,
            tuple(metadata),
            host,
            grpc_port,
        )
    except OSError as error:
        raise ShoalError(
            "The port cannot be opened", str(error), ["Name others: --port, --grpc-port."]
        ) from error
    note(f"{endpoint}: http://{host}:{web.server_address[1]} and gRPC {host}:{bound}; Ctrl-C ends")
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        ended.wait()
    except KeyboardInterrupt:
        note("Ended.")
    finally:
        web.shutdown()
        calls.stop(None)
