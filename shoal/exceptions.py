"""What calls raise, also under the names that ``azure.ai.ml.exceptions`` has for it."""

from shoal.client.errors import (
    ConnectionFailed,
    InstallationNotFound,
    OperationFailed,
    Problem,
    ShoalError,
    UnusableSource,
    WaitInterrupted,
    WaitTimeout,
)
from shoal.entities.errors import EntityInvalid

AssetPathException = UnusableSource
DeploymentException = OperationFailed
MlException = ShoalError
UserErrorException = ShoalError
ValidationException = EntityInvalid

__all__ = [
    "AssetPathException",
    "ConnectionFailed",
    "DeploymentException",
    "EntityInvalid",
    "InstallationNotFound",
    "MlException",
    "OperationFailed",
    "Problem",
    "ShoalError",
    "UnusableSource",
    "UserErrorException",
    "ValidationException",
    "WaitInterrupted",
    "WaitTimeout",
]
