"""What can go wrong with environments. Texts are for people, shown as they are."""

from controlplane.core.errors import Conflict, Invalid, NotFound


class EnvironmentNotFound(NotFound):
    code = "EnvironmentNotFound"
    tries = ("`GET /api/v1/environments?archived=all` lists those that there are.",)


class EnvironmentVersionImmutable(Conflict):
    code = "EnvironmentVersionImmutable"
    tries = ("Leave the version out: the next one is made.",)


class EnvironmentNameInvalid(Invalid):
    code = "NameInvalid"
    tries = ("Use letters, digits, dot, dash or underscore; begin with a letter or digit.",)


class EnvironmentNameTaken(Conflict):
    code = "NameTaken"
    tries = ("Names of environments are unique in the installation: choose another.",)
