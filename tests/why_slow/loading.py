"""Deploying what is slow, and asking it."""

import io
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from shoal.client import Client
from tests.e2e.product import Product
from tests.why_slow.scenarios import Content, Scenario, Target


def deployed(client: Client, product: Product, name: str, scenario: Scenario) -> Target:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.zip"
        path.write_bytes(_packed(scenario.models))
        upload = str(client.upload(path)["id"])
        version = client.register_model(f"m-{name}", upload)
    started = client.start_deploy(version["model"], version["version"], endpoint=name)
    client.wait_operation(started, timeout_s=120)
    url = urlsplit(client.get_endpoint(name)["scoring_uri"])
    return Target(
        host=url.hostname or "",
        port=url.port or 443,
        path=url.path.rstrip("/"),
        key=client.get_keys(name)["primaryKey"],
        authority=product.client["ca_path"],
        model=scenario.model,
    )


def _packed(models: Mapping[str, Mapping[str, Content]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for model, files in models.items():
            for path, content in files.items():
                archive.writestr(f"{model}/{path}", content)
    return packed.getvalue()


@contextmanager
def under_load(scenario: Scenario, to: Target) -> Iterator[None]:
    """Raises what a caller met."""
    ended, failed = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            scenario.call(to, ended)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(scenario.callers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(60)
    if failed:
        raise failed[0]
