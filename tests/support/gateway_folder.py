"""Settings of a gateway that lives in a test's folder, on free ports of this machine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from controlplane.gateway.settings import GatewaySettings


def settings_in(home: Path, **changed: Any) -> GatewaySettings:
    """One thread, no names in its certificate, a control plane that nobody is; but ``changed``."""
    settings = GatewaySettings(
        home=home,
        tls_dir=home / "tls",
        control_url="http://127.0.0.1:9",
        control_authority=None,
        token="token",
        name="test",
        address="127.0.0.1",
        tls_port=0,
        plain_port=0,
        tls_names=(),
        concurrency=1,
    )
    return replace(settings, **changed)
