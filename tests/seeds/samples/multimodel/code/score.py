import json
import os
from pathlib import Path


def init():
    global models
    folder = Path(os.getenv("AZUREML_MODEL_DIR")) / "models"
    models = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}


def run(raw_data):
    data = json.loads(raw_data)
    return [models[data["model"]]["factor"] * value for value in data["data"]]
