"""What is remembered about a model: its last good look at disk, and the state of its versions."""

from msgspec import Struct, field

from worker_runtime.core.loading import ModelPlan
from worker_runtime.core.model import ModelVersion
from worker_runtime.repository.fingerprint import Fingerprint
from worker_runtime.types.states import ModelState


class VersionState(Struct):
    """``plan`` is what the model was loaded by; it keeps the files of a request alive."""

    state: ModelState
    reason: str = ""
    model: ModelVersion | None = None
    plan: ModelPlan | None = None


class ModelRecord(Struct):
    """A model that was to be served at least once; no ``versions``: none could even be tried."""

    name: str
    versions: dict[int, VersionState] = field(default_factory=dict)

    @property
    def ready(self) -> dict[int, ModelVersion]:
        """The versions that serve, ascending."""
        return {
            version: held.model
            for version, held in sorted(self.versions.items())
            if held.model is not None and held.state is ModelState.READY
        }


class Known(Struct):
    """A model as it was last read and accepted.

    ``explicit``: somebody asked for it by name, rather than for an ensemble that needs it.
    ``loaded_from`` is what it looked like when it was last loaded, None before: a load that fails
    leaves it, so that the next attempt finds a difference.
    """

    plan: ModelPlan
    seen: Fingerprint
    explicit: bool = True
    loaded_from: Fingerprint | None = None
