"""Name, backend and platform, and what concerns the model as a whole."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.agents import CHECKSUM
from worker_runtime.repository.validation.findings import finding
from worker_runtime.types.backends import ENSEMBLE, family_of_platform, is_family


def check_identity(config: Any) -> Iterator[Problem]:
    """Name, backend and platform; max_batch_size; the keys of parameters."""
    name = config.name
    if not name:
        yield finding("name", "model configuration must specify 'name'")
    if not config.backend and config.platform != ENSEMBLE:
        yield finding(
            "platform",
            f"unexpected platform type '{config.platform}' for {name}",
            got=config.platform,
            expected="backend to be set, or a platform that names one",
        )
    elif config.backend and config.platform == ENSEMBLE:
        yield finding(
            "backend",
            f"Ensemble model '{name}' must have platform type '{ENSEMBLE}' and empty backend type",
            got=config.backend,
            expected="no backend",
        )
    elif is_family(config.backend) and family_of_platform(config.platform) != config.backend:
        yield finding(
            "platform",
            f"unexpected 'platform' and 'backend' pair, got:{config.platform}, {config.backend}",
            got=config.platform,
            expected=f"a platform of backend {config.backend}, or none",
        )
    if config.max_batch_size < 0:
        yield finding(
            "max_batch_size",
            f"'max_batch_size' must be non-negative value for {name}",
            got=config.max_batch_size,
            expected="0 (the model does not batch) or more",
        )
    for key, value in config.parameters.items():
        if not key:
            yield finding(
                "parameters",
                f"a parameter with value '{value.string_value}' has no key: nothing can read it",
                severity="warning",
            )


def check_agents(config: Any) -> Iterator[Problem]:
    """There is only one here, and to ignore one that guards a model would be wrong."""
    for index, agent in enumerate(config.model_repository_agents.agents):
        if agent.name == CHECKSUM:
            continue
        yield finding(
            f"model_repository_agents[0].agents[{index}]",
            f"unable to find 'libtritonrepoagent_{agent.name}.so' for repo agent '{agent.name}', "
            "searched: /opt/tritonserver/repoagents",
            got=agent.name,
            expected=f"{CHECKSUM}: the only repository agent here",
        )


def check_response_cache(config: Any) -> Iterator[Problem]:
    """Decoupled models have no one answer to keep. (Sequences are told with their batching.)"""
    if config.model_transaction_policy.decoupled and config.response_cache.enable:
        yield finding(
            "response_cache",
            f"Response Cache does not currently support model {config.name} with 'decoupled' "
            "transaction policy. Please disable the response cache.",
            got=True,
            expected="enable: false",
        )
