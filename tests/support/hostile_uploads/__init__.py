"""Uploads that try to run code, or to read files, without saying so; and honest ones beside them.

Each hostile one says which kinds must be found. Nothing in them does harm: commands are ``true``.
A finding of a review becomes a case here.
"""

from tests.support.hostile_uploads.configurations import CONFIGURATIONS
from tests.support.hostile_uploads.files import FILES
from tests.support.hostile_uploads.honest import HONEST
from tests.support.hostile_uploads.programs import PROGRAMS
from tests.support.hostile_uploads.reviews import REVIEWS
from tests.support.hostile_uploads.upload import Upload

HOSTILE: tuple[Upload, ...] = (*REVIEWS, *CONFIGURATIONS, *FILES, *PROGRAMS)

__all__ = ["HONEST", "HOSTILE", "Upload"]
