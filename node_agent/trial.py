"""What only a trial does: a replica that nobody calls, started to see whether its models load."""

from typing import Any
from urllib.parse import quote

import httpx

from node_agent import answers
from node_agent.failure import ReplicaFailed
from node_agent.launch import RuntimeCrashed
from wire import codec

TIMEOUT_S = 5.0
LOG_LINES = 40


async def served_configs(host: str, port: int, models: tuple[str, ...]) -> dict[str, Any]:
    """Model name -> the whole configuration that the runtime serves it with.

    Raises ReplicaFailed: a trial that cannot tell has failed.
    """
    found: dict[str, Any] = {}
    left = answers.LIMIT_BYTES
    try:
        async with answers.client(TIMEOUT_S, f"http://{host}:{port}/") as client:
            for model in models:
                url = f"v2/models/{quote(model, safe='')}/config"
                answer = await client.get(url, extensions={answers.MOST_BYTES: left})
                left -= len(answer.raise_for_status().content)
                found[model] = answer.json()
        # what no message carries would keep back the report of the whole node
        codec.from_data(dict[str, Any], found)
    except (httpx.HTTPError, ValueError) as error:
        raise ReplicaFailed(
            "ConfigUnavailable", f"The runtime does not tell its configuration: {error}"
        ) from error
    return found


def crashed(crash: RuntimeCrashed) -> ReplicaFailed:
    """A trial is not started again: how it ended is what was asked for."""
    return ReplicaFailed(
        "RuntimeCrashed",
        f"The runtime {crash} while it loaded the model.",
        hints=("The log's last lines usually name the cause.",),
    )
