"""What a load request brings with it instead of what lies in the repository."""

from collections.abc import Mapping

from msgspec import Struct, field


class LoadOverride(Struct, frozen=True):
    """``config`` is JSON text; ``files`` are contents by path below the model, ``1/model.onnx``.

    A front end hands on the text and the decoded bytes, the paths without the ``file:`` of the
    protocol; whether they make sense is decided where models are loaded.
    """

    config: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.config is not None or bool(self.files)
