import json
import logging
import os


def init():
    global labels
    model_path = os.path.join(os.getenv("AZUREML_MODEL_DIR"), "model/labels.json")
    with open(model_path) as file:
        labels = json.load(file)
    logging.info("Init complete")


def run(raw_data):
    logging.info("Request received")
    data = json.loads(raw_data)["data"]
    return [f"{index} : {labels[str(index)]}" for index in data]
