from azureml.contrib.services.aml_request import rawhttp
from azureml.contrib.services.aml_response import AMLResponse


def init():
    pass


@rawhttp
def run(req):
    if req.method != "POST":
        return AMLResponse("bad request", 500)
    response = AMLResponse(bytes(reversed(req.get_data(False))), 200)
    response.headers["Content-Type"] = "application/octet-stream"
    return response
