"""The models on which the HTTP surface is tried, and what is read of its refusals."""

import json
from pathlib import Path

TYPES = ("FP32", "FP64", "BOOL", "STRING", "UINT8", "INT8", "INT64", "UINT64", "FP16")
LIMIT = 1 << 20
POST = b"POST /v2/models/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


def save_config(root: Path, name: str, text: str) -> None:
    (root / name / "1").mkdir(parents=True)
    (root / name / "config.pbtxt").write_text(text)


def error_of(answer: bytes) -> str:
    found = json.loads(answer)
    assert list(found) == ["error"]
    return str(found["error"])
