import json


def init():
    pass


def run(raw_data, request_headers):
    return {"asked": json.loads(raw_data), "type": request_headers["Content-Type"]}
