"""Routes below /api/v1/."""

from django.urls import path

from controlplane.overview import api, project_api

urlpatterns = [
    path("nodes", api.NodesView.as_view()),
    path("nodes/<str:node>", api.NodeView.as_view()),
    path("nodes/<str:node>/cordon", api.NodeCordonView.as_view()),
    path("nodes/<str:node>/uncordon", api.NodeUncordonView.as_view()),
    path("nodes/<str:node>/drain", api.NodeDrainView.as_view()),
    path("nodes/<str:node>/cache", api.NodeCacheView.as_view()),
    path("drains", api.DrainsView.as_view()),
    path("overview", api.OverviewView.as_view()),
    path("overview/counts", api.OverviewCountsView.as_view()),
    path("projects", project_api.ProjectsView.as_view()),
    path("projects/<str:project>", project_api.ProjectView.as_view()),
    path("projects/<str:project>/archive", project_api.ProjectArchiveView.as_view()),
    path("projects/<str:project>/restore", project_api.ProjectRestoreView.as_view()),
    path("projects/<str:project>/members", project_api.MembersView.as_view()),
    path("projects/<str:project>/members/<str:username>", project_api.MemberView.as_view()),
]
