"""Signs of life of what runs in the background."""

from django.db import models


class Pulse(models.Model):
    """The last time that a worker did the job which beat puts into each queue now and then.

    It went the whole way: beat, broker, queue, worker, database.
    """

    queue = models.CharField(max_length=64, primary_key=True)
    at = models.DateTimeField()
    waited_s = models.FloatField(null=True)  # from beat to the worker
    worker = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"{self.queue} at {self.at}"
