import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def _schema(kind):
    return SimpleNamespace(
        inputs=[SimpleNamespace(name=None, required=True)],
        is_tensor_spec=lambda: True,
        input_names=lambda: [0],
        numpy_types=lambda: [np.dtype(kind)],
    )


def load_model(path):
    labels = json.loads((Path(path) / "labels.json").read_text())
    about = SimpleNamespace(
        get_input_schema=lambda: _schema("int64"), get_output_schema=lambda: _schema("str")
    )

    def predict(data, params=None):
        return np.array([f"{index} : {labels[str(index)]}" for index in data])

    return SimpleNamespace(metadata=about, predict=predict)
