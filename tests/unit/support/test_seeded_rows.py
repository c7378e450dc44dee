"""What migrations make is there for the test after a transactional one."""

import pytest
from django.core.management import call_command

from controlplane.deployments.models import InstanceType


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
def test_instance_types_come_back_after_a_flush() -> None:
    before = set(InstanceType.objects.values_list("name", flat=True))
    call_command("flush", interactive=False, verbosity=0)
    assert "gpu" in before
    assert set(InstanceType.objects.values_list("name", flat=True)) == before
