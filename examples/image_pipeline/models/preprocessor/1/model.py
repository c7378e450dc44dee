"""Encoded images to tensors. An image that cannot be read fails its own request, no other."""

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import UnidentifiedImageError
from pixels import decode


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        rows = pb_utils.get_input_tensor_by_name(request, "RAW_IMAGE").as_numpy()
        try:
            # Rows of one request have one length: shorter files are padded, which decoders ignore.
            images = np.stack([decode(row.tobytes()) for row in rows])
        except UnidentifiedImageError:
            return refusal("RAW_IMAGE is no image of a format that Pillow knows")
        except OSError as error:
            return refusal(f"RAW_IMAGE cannot be decoded: {error}")
        return pb_utils.InferenceResponse([pb_utils.Tensor("PREPROCESSED_IMAGE", images)])


def refusal(text):
    return pb_utils.InferenceResponse(
        error=pb_utils.TritonError(text, pb_utils.TritonError.INVALID_ARG)
    )
