"""Who this node is: joining with a single-use token, and the credential that it keeps."""

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from node_agent.backoff import Backoff
from node_agent.client import ControlClient, ControlError, CredentialRefused, Refused
from wire import codec
from wire.messages import NodeInfo, RegisterRequest

logger = logging.getLogger(__name__)


# Longer than the longest silence (four reports, a minute apart) after which a node is offline.
NAME_RETRY_S: Final = 300.0


class CannotJoin(RuntimeError):
    """No credential and no token that works; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Identity:
    node_id: str
    credential: str
    heartbeat_interval_s: float


def read(file: Path) -> Identity | None:
    """The identity kept in `file`; None when there is none."""
    try:
        return codec.decode(Identity, file.read_bytes())
    except FileNotFoundError:
        return None
    except codec.WireError as error:
        raise CannotJoin(
            f"{file} is damaged ({error}). Delete it and join with a new token."
        ) from error


def write(file: Path, identity: Identity) -> None:
    """Keep it for this user alone, atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        json.dump(asdict(identity), stream)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)


async def join(
    client: ControlClient,
    *,
    token: str,
    node: NodeInfo,
    file: Path,
    verify: Callable[[], Awaitable[None]] | None = None,
    name_retry_s: float = NAME_RETRY_S,
) -> Identity:
    """Register with `token`, however long the control plane takes. Raises CannotJoin.

    A name that another node has is asked for again for `name_retry_s`: that may have been this one,
    before it lost its folder, and is free once the control plane has missed its reports.

    `verify` is awaited before the token is sent, again at each try: it raises what keeps us away.
    """
    if not token:
        raise CannotJoin(
            "This node has no credential. Make a token in the studio (Nodes, Add) "
            "and set SHOAL_JOIN_TOKEN or SHOAL_JOIN_TOKEN_FILE."
        )
    delays = Backoff(first_s=0.2, limit_s=10.0)
    began = time.monotonic()
    while True:
        try:
            if verify is not None:
                await verify()
            reply = await client.register(RegisterRequest(token=token, node=node))
        except CredentialRefused as error:
            raise CannotJoin(
                f"This node was not let in: {str(error).rstrip('.')}. Make a new token with "
                "`shoal node join`, or in the studio (Nodes, Add node), put it into "
                "SHOAL_JOIN_TOKEN and start the agent again."
            ) from error
        except ControlError as error:
            taken = isinstance(error, Refused) and error.status == HTTPStatus.CONFLICT
            if taken and time.monotonic() - began > name_retry_s:
                raise CannotJoin(
                    f"{error} Another agent goes on reporting under this name: set another "
                    "SHOAL_NODE_NAME, or stop that one. The token was not used."
                ) from error
            delay = delays.next()
            logger.warning("Cannot join yet: %s; next try in %.1f s", error, delay)
            await asyncio.sleep(delay)
            continue
        identity = Identity(
            node_id=reply.node_id,
            credential=reply.credential,
            heartbeat_interval_s=reply.heartbeat_interval_s,
        )
        write(file, identity)
        logger.info("Joined as node %s", reply.node_id)
        return identity
