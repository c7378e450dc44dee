"""The studio's port on one machine: what ``uvicorn controlplane.config.asgi:application`` serves,
with a clock that is slow while nobody calls. ``python -m controlplane.config.web_server --port N``.
"""

import argparse
import asyncio

import uvicorn

from controlplane.core.slow_clock import Server

APPLICATION = "controlplane.config.asgi:application"


def config(port: int) -> uvicorn.Config:
    return uvicorn.Config(
        APPLICATION,
        host="127.0.0.1",
        port=port,
        timeout_graceful_shutdown=3,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the application does that: SHOAL_TRUSTED_PROXIES
    )


async def _serve(of: uvicorn.Config) -> None:
    await Server(of).serve()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    made = config(parser.parse_args().port)
    with asyncio.Runner(loop_factory=made.get_loop_factory()) as runner:
        runner.run(_serve(made))


if __name__ == "__main__":
    main()
