"""What comes in and goes out is captured without what nobody shall keep, and where it moves away
from its baseline an alert says so."""

import json
import os
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow.parquet

from tests.autopilot.report import say
from tests.autopilot.world import World, pause, seconds
from tests.chaos.studio import python_model, until

RULE = "input-drift"
RATE = 0.5
CAPTURE = {"sampling_rate": RATE, "drop": ["name"], "hash": ["customer"], "roll_seconds": 5}
SENT, ROWS = 160, 10  # requests at a time, rows in each
LIKELY = 5 * (SENT * RATE * (1 - RATE)) ** 0.5  # requests: five standard deviations
MOVED = 2.0  # of a column whose standard deviation is 1
FEW = 10  # records of a baseline that is too small
KEPT_S = 15.0  # a file is open for 5 s, its agent looks every 5 s
LOOKED_S = 26.0  # a comparison each 5 to 10 s, of alerts one each 15 s
TOLD_S = 40.0
NAME, CUSTOMER = "Ada Lovelace, no. ", "customer-"
CONFIG = """
backend: "python"
input { name: "x" data_type: TYPE_FP32 dims: [-1, 4] }
input { name: "name" data_type: TYPE_STRING dims: [-1, 1] }
input { name: "customer" data_type: TYPE_STRING dims: [-1, 1] }
output { name: "score" data_type: TYPE_FP32 dims: [-1, 1] }
instance_group { count: 1 kind: KIND_CPU }
"""
CODE = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([self.score(request)]) for request in requests]

    def score(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
        return pb_utils.Tensor("score", x.mean(axis=1, keepdims=True))
"""
Sent = dict[str, list[float]]  # id of a request -> its values of x


def shifted(world: World) -> None:
    """Captured by sample, redacted, compared: inputs that move raise an alert, others do not."""
    began, opened = time.monotonic(), datetime.now(UTC).isoformat()
    studio, report, client = world.system.studio, world.report, world.client
    # ten minutes for people; what is shown is that it fires
    client.change_alert_rule(RULE, for_s=0)
    studio.register("quote", python_model("quote", CODE, config=CONFIG), "quote.zip")
    for name, traffic in (("moved", 100), ("steady", 0)):
        studio.succeeded(
            studio.deploy("data", "quote", name=name, traffic=traffic, capture=CAPTURE)
        )
    rng = random.Random(20)
    trained = world.folder / "trained.jsonl"
    trained.write_text("".join(f"{json.dumps(_record(rng))}\n" for _ in range(SENT)))
    client.upload_baseline("data", "steady", trained)
    sent = {name: _ask(world, name, rng, "first") for name in ("moved", "steady")}
    answered = time.monotonic()
    for name in sent:
        until(lambda of=name: _enough(world, of), f"what {name} was asked is in its statistics")
    counted = time.monotonic()
    report.within("from the last answer until it is in the statistics", counted - answered, KEPT_S)
    files = _files(world, sent["moved"])
    _too_little(world, files)
    found = client.set_baseline("data", "moved", begin=opened)
    say(f"   baseline of moved: {found['source']}, {found['records']} requests")

    shift = time.time()
    sent["moved"] |= _ask(world, "moved", rng, "later", by=MOVED)
    fired = until(lambda: _alerts(world, "moved"), "the alert fires", 2 * TOLD_S)[0]
    say(f"   {fired['summary']}")
    report.within(
        "from the first input that moved until the alert fires",
        seconds(fired["fired_at"]) - shift,
        TOLD_S,
    )
    _shown(world)
    # what did not move was compared and looked at as often
    pause(max(0.0, counted + LOOKED_S - time.monotonic()))
    others = _alerts(world, "steady")
    report.must(
        "inputs that did not move raise none", not others, f"{len(others)} alerts of steady"
    )
    client.change_alert_rule(RULE, for_s=None)
    world.delete("data")
    report.within("all of that", time.monotonic() - began, 60.0)


def _row(rng: random.Random, by: float) -> list[float]:
    return [round(rng.gauss(by if column == 0 else 0.0, 1.0), 3) for column in range(4)]


def _record(rng: random.Random) -> dict[str, Any]:
    """As training data is written down: `x` alone."""
    values = [value for _ in range(ROWS) for value in _row(rng, 0.0)]
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": [ROWS, 4], "data": values}]}


def _ask(world: World, deployment: str, rng: random.Random, word: str, by: float = 0.0) -> Sent:
    """Requests of ``ROWS`` rows through the gateway, each with a name and a customer."""
    studio, sent = world.system.studio, Sent()
    headers = {
        "Authorization": f"Bearer {studio.key('data')}",
        "x-shoal-deployment": deployment,
    }
    url = studio.infer_url("data", "quote")
    with httpx.Client(headers=headers, trust_env=False, timeout=30) as http:
        for number in range(SENT):
            body = _record(rng)
            body["id"] = f"{word}-{number}"
            x = body["inputs"][0]
            x["data"] = [value for _ in range(ROWS) for value in _row(rng, by)]
            for name, text in (("name", NAME), ("customer", CUSTOMER)):
                values = [f"{text}{rng.randrange(5)}" for _ in range(ROWS)]
                body["inputs"].append(
                    {"name": name, "datatype": "BYTES", "shape": [ROWS, 1], "data": values}
                )
            http.post(url, json=body).raise_for_status()
            sent[body["id"]] = x["data"]
    return sent


def _enough(world: World, deployment: str) -> bool:
    shown = world.client.data_statistics("data", deployment, hours=1)
    return bool(shown["records"] >= SENT * RATE - LIKELY)


def _files(world: World, sent: Sent) -> list[dict[str, Any]]:
    """What was captured of ``moved``, from its files in the store of blobs; checked."""
    client, report, home = world.client, world.report, world.system.product.home
    listed = list(client.list_captured("data", "moved"))
    paths = [client.download_captured("data", "moved", one, world.folder / "got") for one in listed]
    stored = [path for path in (home / "blobs").rglob("*") if path.is_file()]
    kept = [one for path in paths for one in stored if _alike(one, path)]
    lines = [line for path in kept for line in path.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    mine = [one for one in records if one["id"] in sent]
    where = ", ".join(f"{str(path.relative_to(home))[:20]}..." for path in kept)
    report.must(
        "its files are in the store of blobs", len(kept) == len(paths) > 0,
        f"{where} with {len(mine)} requests",
    )  # fmt: skip
    report.must(
        f"a sample of {RATE:.0%}", abs(len(mine) - SENT * RATE) <= LIKELY,
        f"{len(mine)} of {SENT} (within {LIKELY:.0f} of {SENT * RATE:.0f})",
    )  # fmt: skip
    right = sum(
        np.array_equal(np.float32(_input(one, "x")["data"]), np.float32(sent[one["id"]]))
        for one in mine
    )
    report.must("with what was sent", right == len(mine), f"{right} of {len(mine)} alike")
    _redacted(world, mine)
    made = [client.download_parquet("data", "moved", one, world.folder / "got") for one in listed]
    rows = [row for path in made for row in pyarrow.parquet.read_table(path).to_pylist()]
    numbers = {row["id"]: one["numbers"] for row in rows for one in row["inputs"]
               if one["name"] == "x"}  # fmt: skip
    alike = sum(numbers.get(one["id"]) == _input(one, "x")["data"] for one in mine)
    report.must("Parquet has the same", alike == len(mine), f"{len(rows)} rows, {alike} alike")
    return mine


def _redacted(world: World, records: Sequence[dict[str, Any]]) -> None:
    report, home = world.report, world.system.product.home
    first = records[0]
    told = ", ".join(f"{one['name']} {one['data'][:1]}" for one in first["inputs"])
    say(f"   {first['id']}: {told} ... gave {first['outputs'][0]['name']} "
        f"{first['outputs'][0]['data'][:1]} ...")  # fmt: skip
    names = sorted({one["name"] for record in records for one in record["inputs"]})
    report.must("the dropped field is gone", "name" not in names, f"inputs {', '.join(names)}")
    digests = {value for one in records for value in _input(one, "customer")["data"]}
    report.must(
        "the hashed one is told apart and not told", len(digests) == 5, f"{min(digests)}, ..."
    )
    # why all files: agent, runtime and gateway had the values, too; why walk: it bears with folders
    # that are removed meanwhile
    files = [Path(folder) / name for folder, _, names in os.walk(home) for name in names]
    having = [path for path in files if _has(path, NAME.encode(), CUSTOMER.encode())]
    ids = [path for path in files if _has(path, first["id"].encode())]
    report.must(
        "neither is in any file of the installation", not having and bool(ids),
        f"{len(having)} of {len(files)} files; the request's id is in {len(ids)}",
    )  # fmt: skip


def _too_little(world: World, records: Sequence[dict[str, Any]]) -> None:
    few = world.folder / "few.jsonl"
    few.write_text("".join(f"{json.dumps(one)}\n" for one in records[:FEW]))
    world.client.upload_baseline("data", "moved", few)
    features = world.client.data_statistics("data", "moved", hours=1)["features"]
    told = {one["told"] for one in features if one["verdict"] == "too_little_data"}
    world.report.must(
        f"a baseline of {FEW * ROWS} rows is too little",
        told == {f"the baseline has {FEW * ROWS} of 300 rows"}
        and not any(one["psi"] for one in features),
        ", ".join(sorted(told)),
    )


def _shown(world: World) -> None:
    """What the alert rests on, and that of ``steady``."""
    for name in ("moved", "steady"):
        shown = world.client.data_statistics("data", name, hours=24)
        for one in shown["features"]:
            if one["psi"] is None:
                continue
            say(f"   {name:6} {one['name']:12} {one['now']['rows']:5} rows, mean "
                f"{_figure(one['now']['mean'])} (baseline {_figure(one['baseline']['mean'])}), PSI "
                f"{one['psi']:.3f}, KS {_figure(one['ks'])} (p {_figure(one['p_value'])}): "
                f"{one['verdict']}")  # fmt: skip
        far = {one["name"] for one in shown["features"] if one["verdict"] == "drift"}
        wanted = {"x[0]"} if name == "moved" else set()
        still = {"x[1]", "x[2]", "x[3]"} & far
        world.report.must(
            f"of {name} {'the column that moved' if wanted else 'nothing'} is drift",
            wanted <= far and not still and (bool(wanted) or not far),
            ", ".join(sorted(far)) or "nothing",
        )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _alerts(world: World, deployment: str) -> list[dict[str, Any]]:
    """Those of the rule, about this deployment, that fire."""
    found = world.system.studio.get(f"/alerts?rule={RULE}&subject=endpoint/data&state=firing")
    return [one for one in found["items"] if one["part"] == deployment]


def _input(record: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in record["inputs"] if one["name"] == name)


def _alike(one: Path, other: Path) -> bool:
    return one.stat().st_size == other.stat().st_size and one.read_bytes() == other.read_bytes()


def _has(path: Path, *words: bytes) -> bool:
    if not path.is_file():  # a socket
        return False
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # gone meanwhile, as temporary files are
        return False
    return any(word in content for word in words)
