"""One example for every body that the API takes, as the OpenAPI document shows them."""

from typing import Any, Final

SHA256: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
UPLOAD: Final = "4f1c2d3e4a5b46c78d9e0f1a2b3c4d5e"
CONFIG: Final = 'name: "digits"\nbackend: "onnxruntime"\nmax_batch_size: 8\n'
PUBLIC_KEY: Final = "RWQ8DClSjVK6EcBvFalBxGXrD6Kts8Z0pg7T1EYVLb6uTsXNb7dc3Ery"
MINISIG: Final = (
    "untrusted comment: signature from minisign secret key\n"
    "RUQ8DClSjVK6ETehjQOBph3TbqnIouR0ObVY6FjJnEeS"
    "+3Ys78gpk+krq07oBgEtb6SyBhd38D3pMUIvT5rnMZhRtlC26ddpWQg=\n"
    "trusted comment: reviewed by ada\n"
    "ttzCRnDrjFmXqZgqXYeKrwCw72xC49DMfx55Fmrrucj6"
    "8mABdvVxdPylamt/NfkzmUeLBXWsxaM0cWPmCM7cDw==\n"
)
WORDS: Final = {"description": "Handwritten digits", "tags": {"team": "vision"}}
ORIGIN: Final = {
    "lineage": {
        "address": "https://github.com/acme/digits",
        "run": "train-7",
        "run_url": "https://mlflow.example.org/runs/7",
        "commit": "9091d72a",
        "dataset": "mnist@v3",
    }
}

EXAMPLES: Final[dict[str, Any]] = {
    "AliasInputRequest": {"version": "3"},
    "CaptureBaselineInputRequest": {
        "begin": "2026-11-26T00:00:00Z",
        "end": "2026-11-27T00:00:00Z",
        "window_hours": 6,
    },
    "ExperimentAnswersInputRequest": {"baseline": "blue", "inputs": 50, "hours": 24},
    "PatchedCaptureWindowRequest": {"window_hours": 6},
    "ImportInputRequest": {"address": "hf://acme/digits@main/model.onnx", "project": "vision"},
    "LoadSweepInputRequest": {
        "levels": [1, 2, 4, 8, 16],
        "mode": "concurrency",
        "seconds": 5,
        "slo_percentile": 99,
        "slo_ms": 20,
        "shapes": {"image": [3, 224, 224]},
    },
    "TuningInputRequest": {
        "levels": [4, 16, 64],
        "slo_percentile": 99,
        "slo_ms": 20,
        "instances": [1, 2, 4],
        "batch_sizes": [8, 16, 32],
        "delays_us": [0, 500, 2000],
        "while_serving": True,
    },
    "TuningApplyInputRequest": {"setting": {"instances": 2, "batch": 16, "delay_us": 500}},
    "ConfigRenderInputRequest": {"config": {"name": "digits", "max_batch_size": 8}},
    "ConfigRevisionInputRequest": {
        "configs": {"digits": CONFIG},
        "message": "Batches of eight",
        "base": 0,
    },
    "ConfigValidateInputRequest": {
        "text": CONFIG,
        "repo_model": "digits",
        "model": "digits",
        "version": "latest",
    },
    "CodeRequest": {"code": "492039"},
    "FactorBeginRequest": {"password": "correct horse battery"},
    "PasswordAndCodeRequest": {"password": "correct horse battery", "code": "492039"},
    "CredentialsRequest": {"username": "admin", "password": "correct horse battery"},
    "ProjectInputRequest": {
        "name": "vision",
        "display_name": "Computer vision",
        "max_replicas": 20,
        "max_gpus": 4,
        "max_bytes": 500_000_000_000,
    },
    "PatchedProjectPatchRequest": {"max_gpus": 8},
    "MemberInputRequest": {"role": "deployer"},
    "ServiceAccountInputRequest": {"name": "ci", "role": "deployer", "days": 90},
    "PatchedServiceAccountPatchRequest": {"role": "viewer"},
    "ServiceAccountRotateRequest": {"days": 90, "overlap_s": 86_400},
    "SetupRequest": {
        "token": "shoal_as-printed-behind-the-hash",
        "username": "grace",
        "password": "correct horse battery",
    },
    "DeployInputRequest": {
        "model": "digits",
        "version": "@latest",
        "endpoint": "digits",
        "instance_count": 2,
        "traffic": 100,
    },
    "DeploymentInputRequest": {
        "name": "green",
        "model": "digits",
        "version": "@champion",
        "instance_count": 1,
        "instance_type": "Standard_NC4as_T4_v3",
        "environment": {"OMP_NUM_THREADS": "2"},
        "request_timeout_ms": 5000,
        "max_queue_wait_ms": 500,
        "traffic": 0,
    },
    "DeploymentPutRequest": {
        "model": "digits",
        "version": "3",
        "instance_count": 2,
        "environment": {"OMP_NUM_THREADS": "2"},
    },
    "DeploymentRollRequest": {"version": "4", "environment": {"OMP_NUM_THREADS": "4"}},
    "DraftInputRequest": {"title": "digits", "upload_id": UPLOAD, "data": {"step": "model"}},
    "DraftSaveRequest": {"title": "digits", "data": {"step": "review"}, "revision": 2},
    "DrainInputRequest": {"deadline_s": 600, "dry_run": True},
    "DrainsInputRequest": {"nodes": ["gpu-1", "gpu-2"], "dry_run": True},
    "EndpointInputRequest": {
        "name": "digits",
        "auth_mode": "key",
        "cors_origins": ["https://shop.example"],
        "max_request_bytes": 16_777_216,
        "rate_limit": {"requests_per_second": 100, "burst": 200, "per": "key"},
        **WORDS,
    },
    "EndpointPutRequest": {"auth_mode": "key", "max_request_bytes": 16_777_216, **WORDS},
    "EnvironmentInputRequest": {
        "name": "sklearn",
        "requirements": "scikit-learn==1.8.*\npandas\n",
        "conda_file": {"dependencies": ["scikit-learn=1.8", "pandas"]},
        **WORDS,
    },
    "InstanceTypeInputRequest": {
        "name": "t4",
        "aliases": ["Standard_NC4as_T4_v3"],
        "gpu_count": 1,
        "gpu_policy": "required",
        "gpu_model": "T4",
    },
    "KeyRegenerateRequest": {"key_type": "secondary"},
    "MirrorInputRequest": {"mirror_traffic": {"green": 10}},
    "ModelInputRequest": {
        "name": "digits",
        "upload_id": UPLOAD,
        "apply_fixes": True,
        **WORDS,
        **ORIGIN,
    },
    "ModelVersionInputRequest": {"upload_id": UPLOAD, "apply_fixes": True, **WORDS, **ORIGIN},
    "PasswordChangeRequest": {"current": "correct horse battery", "password": "staple, correct"},
    "PasswordSetRequest": {"password": None},
    "PatchedDeploymentPatchRequest": {"instance_count": 3},
    "PatchedEndpointPatchRequest": WORDS,
    "PatchedEnvironmentPatchRequest": WORDS,
    "PatchedInstanceTypePatchRequest": {"gpu_policy": "preferred"},
    "PatchedMirrorInputRequest": {"mirror_traffic": {"green": 10}},
    "PatchedModelPatchRequest": WORDS,
    "PatchedModelVersionPatchRequest": {**WORDS, **ORIGIN},
    "PatchedNodePatchRequest": {"labels": {"zone": "a"}},
    "PatchedTrafficInputRequest": {"traffic": {"blue": 80, "green": 20}},
    "PatchedUserPatchRequest": {"role": "operator"},
    "AlertThresholdInputRequest": {"threshold": 800.0},
    "PatchedAlertRuleChangeRequest": {"threshold": 85.0, "severity": "page"},
    "ChannelInputRequest": {
        "name": "on-call",
        "kind": "webhook",
        "url": "https://hooks.example.org/shoal",
        "severities": ["page"],
    },
    "ChannelCompareRequest": {"url": "https://hooks.example.org/shoal"},
    "PatchedChannelChangeRequest": {"enabled": False},
    "SilenceInputRequest": {
        "subject": "endpoint/digits",
        "rule": "queue-slow",
        "reason": "Load test until noon",
        "ends_at": "2026-11-27T12:00:00Z",
    },
    "ObjectiveInputRequest": {
        "kind": "latency",
        "target_percent": 99.0,
        "window_days": 28,
        "threshold_ms": 250.0,
    },
    "RolloutInputRequest": {
        "deployment": "green",
        "steps": [
            {"percent": 5, "hold_s": 60},
            {"percent": 50, "hold_s": 600},
            {"percent": 100},
        ],
        "shadow": {"percent": 10, "hold_s": 300},
        "min_requests": 500,
        "guardrails": {"errors": {"tolerance": 1.5}, "latency_p99": None},
        "compare": {"per_minute": 30, "by": "best_class", "sources": ["cases", "captured"]},
    },
    "AutoscalePreviewInputRequest": {
        "autoscale": {"min": 1, "max": 8, "targets": {"in_flight": 4}},
        "hours": 24,
    },
    "PlacementPreviewInputRequest": {
        "model": "digits",
        "instance_type": "gpu",
        "instance_count": 2,
        "anti_affinity": "required",
    },
    "PricesInputRequest": {
        "currency": "EUR",
        "nodes": {"local": 0.12},
        "labels": [{"key": "zone", "value": "a", "per_hour": 0.4}],
    },
    "RollbackRequest": {"revision": 2},
    "ScaleRequest": {"instance_count": 3},
    "SignatureInputRequest": {"signature": MINISIG},
    "ApproveRequest": {"config_revision": 2},
    "SigningKeyInputRequest": {"public_key": PUBLIC_KEY, "comment": "Ada"},
    "TestCaseInputRequest": {
        "name": "a seven",
        "model": "digits",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [0.5, 1.0]}],
        "expected": [{"name": "y", "datatype": "FP32", "shape": [1, 1], "data": [7.0]}],
        "tolerance": {"relative": 0.001},
    },
    "TestCasesAcceptInputRequest": {"deployment": "green", "cases": [UPLOAD]},
    "TestCasesRunInputRequest": {"deployment": "green"},
    "TokenInputRequest": {"name": "ci", "scopes": ["deploy"]},
    "TrafficInputRequest": {"traffic": {"blue": 90, "green": 10}},
    "TryLoadInputRequest": {"model": "digits", "configs": {"digits": CONFIG}, "timeout_s": 120},
    "UploadCompleteRequest": {"sha256": SHA256},
    "UploadInputRequest": {"filename": "digits.onnx", "size": 26_454, "sha256": SHA256},
    "UserInputRequest": {"username": "dora", "role": "deployer"},
}


def examples_shown(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """A hook of drf-spectacular."""
    del generator, request, public
    schemas = result["components"]["schemas"]
    for name, example in EXAMPLES.items():
        if name in schemas:
            schemas[name]["example"] = example
    return result
