"""Routes below /api/v1/."""

from django.urls import path

from controlplane.overview import api

urlpatterns = [
    path("nodes", api.NodesView.as_view()),
    path("nodes/<str:node>", api.NodeView.as_view()),
    path("nodes/<str:node>/cordon", api.NodeCordonView.as_view()),
    path("nodes/<str:node>/uncordon", api.NodeUncordonView.as_view()),
    path("nodes/<str:node>/drain", api.NodeDrainView.as_view()),
    path("nodes/<str:node>/cache", api.NodeCacheView.as_view()),
    path("drains", api.DrainsView.as_view()),
    path("overview", api.OverviewView.as_view()),
]
