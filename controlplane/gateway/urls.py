"""Routes below /api/v1/."""

from django.urls import path

from controlplane.gateway import api

urlpatterns = [
    path("ca", api.AuthorityView.as_view()),
    path("gateways", api.GatewaysView.as_view()),
    path("gateways/<str:gateway>", api.GatewayView.as_view()),
]
