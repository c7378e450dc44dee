import json
import os

from helpers.text import told


def init():
    global labels
    with open(os.path.join(os.getenv("AZUREML_MODEL_DIR"), "labels.json")) as file:
        labels = json.load(file)


def run(raw_data):
    return [told(index, labels[str(index)]) for index in json.loads(raw_data)["data"]]
