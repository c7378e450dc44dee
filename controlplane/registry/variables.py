"""Variables of a process that bring no code: what whoever may bring none can set. Pure.

By allowlist: any library may read a variable and run, open or write the file that it names, and no
list of those that do is ever complete. Names of the installation's own choosing come by a setting.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

# For the model's own use: no library that we know reads names like these.
OWN: Final = ("APP_*", "AZUREML_*", "MODEL_*")
# How libraries compute and what they log; none names a file, a library or an address.
KNOWN: Final = frozenset(
    {
        "OMP_NUM_THREADS", "OMP_DYNAMIC", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES",
        "OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS",
        "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS",
        "MKL_DYNAMIC", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "RAYON_NUM_THREADS",
        "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS",
        "TF_CPP_MIN_LOG_LEVEL",
        "TOKENIZERS_PARALLELISM", "TRANSFORMERS_VERBOSITY", "TRANSFORMERS_OFFLINE",
        "HF_HUB_OFFLINE", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
        "PYTHONUNBUFFERED", "PYTHONHASHSEED", "LOG_LEVEL", "LOGLEVEL", "WORKER_COUNT",
        "WORKER_TIMEOUT",
        "TZ", "LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY",
        "LC_NUMERIC", "LC_TIME",
    }
)  # fmt: skip
# What a setting must not open: read by the loader, the interpreter, and what they start.
CLOSED: Final = (
    "LD_", "DYLD_", "GLIBC_", "MALLOC_", "PATH", "PYTHON", "HOME", "TMPDIR", "SHOAL_", "DJANGO_",
)  # fmt: skip
# Families of which some names have files read or run: one by one, never by a wildcard.
ONE_BY_ONE: Final = (
    "BASH_", "CONDA_", "CUDA_", "CURL_", "GCONV_", "GIO_", "GOMP_", "HF_", "HTTP_", "HTTPS_",
    "KMP_", "LC_", "MKL_", "NCCL_", "NVIDIA_", "OMP_", "OPENSSL_", "OPENVINO_", "ORT_", "PIP_",
    "REQUESTS_", "SSL_", "TBB_", "TF_", "TORCH_", "TRITON_", "UV_", "VIRTUAL_", "XDG_", "XLA_",
)  # fmt: skip
RULE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,62}(?:_\*)?")
A_PLACE: Final = ("/", "\\", ":", "~", "..")


def rules_read(text: str) -> tuple[str, ...]:
    """``NAME,PREFIX_*`` of a setting. Raises ValueError for what would bring code after all."""
    rules = tuple(rule.strip() for rule in text.split(",") if rule.strip())
    for rule in rules:
        if not RULE.fullmatch(rule):
            raise ValueError(f"{rule!r}: expected NAME or PREFIX_*, in capital letters")
        stem = rule.removesuffix("*")
        shut = CLOSED if stem == rule else CLOSED + ONE_BY_ONE
        for family in shut:
            if stem.startswith(family) or (stem != rule and family.startswith(stem)):
                raise ValueError(f"{rule!r}: {family}* can have files run; that needs code:upload")
    return rules


def code_in_variables(
    values: Mapping[str, str | None], more: Collection[str] = ()
) -> dict[str, str]:
    """Those that only somebody who may bring code can set, and why; ``more``: rules of a setting.

    A value of None takes a variable away, which brings nothing.
    """
    problems = {name: _problem(name, value, more) for name, value in values.items()}
    return {name: why for name, why in sorted(problems.items()) if why}


def _problem(name: str, value: str | None, more: Collection[str]) -> str:
    if value is None or _matches(name, OWN) or _matches(name, more):
        return ""
    if name not in KNOWN:
        return "it is not on the list of variables that bring no code"
    if value.startswith(A_PLACE) or ".." in value:
        return "its value names a file"
    return ""


def _matches(name: str, rules: Collection[str]) -> bool:
    return any(name.startswith(rule[:-1]) if rule.endswith("*") else name == rule for rule in rules)
