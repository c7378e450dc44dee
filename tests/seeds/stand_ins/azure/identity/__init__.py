"""A credential that says nothing: the installation is found as the command line finds it."""


class DefaultAzureCredential:
    pass
