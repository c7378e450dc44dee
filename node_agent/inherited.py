"""Which variables of the agent's environment its replicas see: those listed here, and no others.

A model's code reads its process's environment. What a shell, systemd or a container put into the
agent's (credentials of a cloud, tokens, sockets of an ssh agent) is none of its business.
"""

import logging
import re
from collections.abc import Iterable, Mapping

logger = logging.getLogger(__name__)
SETTING = "SHOAL_NODE_PASS_VARIABLES"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OURS = ("SHOAL_", "DJANGO_")

_LISTED = frozenset(
    {
        # where programs are, and places of this user: caches of pip, torch and of environments
        *("PATH", "HOME", "USER", "LOGNAME", "XDG_CACHE_HOME", "TMPDIR"),
        # how text and times are written
        *("LANG", "LANGUAGE", "TZ"),
        # the runtime is to find the code, and the libraries, that the agent found
        *("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
        "LD_LIBRARY_PATH",
        # why one by one: NVIDIA_API_KEY is a key
        *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE"),
        # who may be trusted, for pip and for models that call others
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"),
        # where pip finds the packages of a requirements.txt
        *("PIP_CONFIG_FILE", "PIP_DEFAULT_TIMEOUT", "PIP_NO_INDEX", "PIP_TRUSTED_HOST"),
        # what the runtime reads as Triton does (docs/settings.md)
        "TRITON_SERVER_ESCAPE_LOG_MESSAGES",
        *("TRITONSERVER_DELAY_SCHEDULER", "TRITONSERVER_BACKLOG_DELAY_SCHEDULER"),
        *("OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
    }
)
# No member of these is a credential: locale, GPUs, threads of OpenMP, MKL, OpenBLAS, glibc's heap.
_PREFIXES = (
    *("LC_", "CUDA_", "CUDNN_", "NCCL_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "MALLOC_"),
)
# These are on the list as long as they hold no password: https://name:password@host.
_ADDRESSES = frozenset(
    {
        *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY"),
    }
)


def passed_on(environ: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """The part of `environ` that replicas see; `more` are further names, by the node's settings."""
    named = frozenset(more)
    return {name: text for name, text in environ.items() if name in named or _listed(name, text)}


def names(text: str) -> tuple[str, ...]:
    """The names in a setting, between commas or spaces. Raises ValueError."""
    found = tuple(text.replace(",", " ").split())
    for name in found:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a variable; expected names and commas")
        if name.startswith(_OURS):
            raise ValueError(f"{name} is a setting of Shoal itself, which no model gets")
    return found


def _listed(name: str, text: str) -> bool:
    if name not in _ADDRESSES:
        return name in _LISTED or name.startswith(_PREFIXES)
    if "@" in text:
        logger.warning(
            "%s seems to hold a password: replicas do not get it. "
            "%s=%s passes it on to every model of this node.",
            *(name, SETTING, name),
        )
        return False
    return True
