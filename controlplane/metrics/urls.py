"""Routes below /api/v1/. What nodes measure and log comes in through ``deployments``, which knows
whose replica it is; the series and logs of an endpoint are shown there, too."""

from django.urls import path

from controlplane.metrics import api

urlpatterns = [path("metrics/query", api.QueryView.as_view())]
