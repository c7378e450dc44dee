"""Models that are slow, that fail now and then, or that answer something else now and then."""

from tests.chaos.studio import ECHO

SLOW_S = 0.05
HEAD = "import random\nimport time\nimport numpy as np\n"
_SLEEPS = """
    def execute(self, requests):
        time.sleep({seconds} * len(requests))
"""
_FAILS = """
    def execute(self, requests):
        return [self._answer(request.inputs()[0].as_numpy()) for request in requests]

    def _answer(self, given):
        if random.random() < {share}:
            failed = pb_utils.TritonError("a shelf is missing")
            return pb_utils.InferenceResponse(error=failed)
        return pb_utils.InferenceResponse([pb_utils.Tensor("y", given)])
"""
_ERRS = """
    def execute(self, requests):
        return [self._answer(request.inputs()[0].as_numpy()) for request in requests]

    def _answer(self, given):
        wrong = np.float32(random.random() < {share})
        return pb_utils.InferenceResponse([pb_utils.Tensor("y", given + wrong)])
"""
_MODEL = "\nclass TritonPythonModel:"


def slow(seconds: float = SLOW_S) -> str:
    """One request at a time, so that a replica answers ``1 / seconds`` in a second."""
    sleeps = _SLEEPS.format(seconds=seconds).lstrip("\n")
    return HEAD + ECHO.replace("    def execute(self, requests):\n", sleeps)


def failing(share: float) -> str:
    return _made(_FAILS.format(share=share))


def erring(share: float) -> str:
    """Answers of another value than all others."""
    return _made(_ERRS.format(share=share))


def _made(methods: str) -> str:
    return f"{HEAD}import triton_python_backend_utils as pb_utils\n\n{_MODEL}{methods}"
