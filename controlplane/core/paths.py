"""Which paths are whose, for the middlewares that stand before every view."""

from typing import Final

# Below these people ask: who they are, and what they may see, is found out for each request.
ASKED_BY_PEOPLE: Final = ("/api/", "/subscriptions/", "/azureml/")
ANSWERED_FOR_PROGRAMS: Final = (*ASKED_BY_PEOPLE, "/agent/")
