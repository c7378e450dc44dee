"""Constants of ``azure.ai.ml.constants`` that programs for online endpoints name."""

from enum import StrEnum
from typing import Final


class AssetTypes:
    """``type`` of a model, and of other assets that there are not here."""

    URI_FILE: Final = "uri_file"
    URI_FOLDER: Final = "uri_folder"
    MLTABLE: Final = "mltable"
    MLFLOW_MODEL: Final = "mlflow_model"
    TRITON_MODEL: Final = "triton_model"
    CUSTOM_MODEL: Final = "custom_model"


class ListViewType(StrEnum):
    """Which versions ``models.list`` gives."""

    ACTIVE_ONLY = "ActiveOnly"
    ARCHIVED_ONLY = "ArchivedOnly"
    ALL = "All"
