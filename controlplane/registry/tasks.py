"""The registry's background jobs: entry points of its services."""

from celery import shared_task
from django.utils import timezone

from controlplane.registry.services import blobs, code_assessment, ingest, resume, uploads

ASSESSED_AT_A_TIME = 20


@shared_task(name="registry.ingest")
def ingest_upload(upload_id: str) -> None:
    ingest.ingest_run(upload_id=upload_id)


@shared_task(name="registry.resume_ingests")
def resume_ingests() -> None:
    resume.ingests_resume(now=timezone.now())


@shared_task(name="registry.expire_uploads")
def expire_uploads() -> None:
    uploads.uploads_expire(now=timezone.now())


@shared_task(name="registry.collect_blobs")
def collect_blobs() -> None:
    blobs.blobs_collect(now=timezone.now())


@shared_task(name="registry.assess_versions")
def assess_versions() -> None:
    """Those of before an upgrade; afterwards there are none."""
    code_assessment.versions_assess(most=ASSESSED_AT_A_TIME)
