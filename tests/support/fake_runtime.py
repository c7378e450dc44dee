"""Stands in for `python -m worker_runtime`: it serves on sockets of the agent, a few routes only.

Every model folder is a model. A model with a file `BROKEN` cannot be loaded, for the reason in it;
where that begins with a number, so often only.
one with a file `CRASH` ends the process when it is loaded.
"""

import argparse
import json
import os
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

METRICS = """# TYPE nv_inference_request_success counter
nv_inference_request_success{model="%s",version="1"} 3
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    for protocol in ("http", "grpc", "metrics"):
        parser.add_argument(f"--{protocol}-port", type=int)
        parser.add_argument(f"--{protocol}-fd", type=int, required=True)
    parser.add_argument("--model-repository", type=Path, required=True)
    for name in ("id", "exit-on-error", "strict-readiness", "allow-code", "backend-config"):
        parser.add_argument(f"--{name}")
    options = parser.parse_args()
    say("fake runtime starting")
    models = sorted(path for path in options.model_repository.iterdir() if path.is_dir())
    routes = handler(models)
    server = served(options.http_fd, routes)
    if any((model / "CRASH").exists() for model in models):
        os._exit(3)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    metrics = served(options.metrics_fd, routes)
    threading.Thread(target=metrics.serve_forever, daemon=True).start()
    server.serve_forever(poll_interval=0.05)


def served(descriptor: int, routes: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """On a socket that somebody has bound, and that listens."""
    server = ThreadingHTTPServer(("", 0), routes, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=descriptor)
    server.daemon_threads = True
    return server


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def reason_of(file: Path) -> str:
    """Why a model cannot be loaded this time; empty when it can."""
    if not file.exists():
        return ""
    text = file.read_text()
    times, _, reason = text.partition(" ")
    if not times.isdecimal():
        return text
    file.write_text(f"{max(0, int(times) - 1)} {reason}")
    return reason if int(times) else ""


def handler(models: list[Path]) -> type[BaseHTTPRequestHandler]:
    names = [model.name for model in models]
    broken = {m.name: reason for m in models if (reason := reason_of(m / "BROKEN"))}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self.answer(200, (METRICS % names[0]).encode())
            elif self.path == "/v2/health/live":
                self.answer(400 if reason_of(models[0] / "NOT_LIVE") else 200, b"")
            elif self.path == "/v2/health/ready" or self.path.endswith("/ready"):
                self.answer(400 if broken else 200, b"")
            else:
                tensor = {"name": "x", "datatype": "FP32", "shape": [-1, 2]}
                self.answer(200, json.dumps({"inputs": [tensor]}).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            index = [
                {
                    "name": name,
                    "version": "1",
                    "state": "UNAVAILABLE" if name in broken else "READY",
                    "reason": broken.get(name, ""),
                }
                for name in names
            ]
            say(f"asked for {self.path}")
            self.answer(200, json.dumps(index).encode())

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


if __name__ == "__main__":
    sys.exit(main())
