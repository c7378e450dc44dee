"""The base of views that somebody may use who has a role in some projects alone."""

from rest_framework.views import APIView


class ProjectAPIView(APIView):
    """A view of what belongs to projects, by rows whose managers keep to the caller's.

    What tells of anything else, of nodes, people, settings or other projects, is none.
    """

    of_projects = True
