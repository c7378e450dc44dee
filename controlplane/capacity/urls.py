"""Routes below /api/v1/."""

from django.urls import path

from controlplane.capacity import api

urlpatterns = [
    path("capacity", api.CapacityView.as_view()),
    path("capacity/nodes", api.NodesView.as_view()),
    path("capacity/deployments", api.DeploymentsView.as_view()),
    path("capacity/waste", api.WasteView.as_view()),
    path("capacity/what-if", api.WhatIfView.as_view()),
    path("endpoints/<str:endpoint>/deployments/<str:deployment>/room", api.RoomView.as_view()),
    path("prices", api.PricesView.as_view()),
]
