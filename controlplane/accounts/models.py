"""Who may do what, and where: users with a role, their API tokens, and projects with members."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models

from controlplane.accounts.scope import ScopedManager, scope_check
from controlplane.accounts.types import DEFAULT_PROJECT
from controlplane.core.models import Stamped


class User(AbstractUser):
    class Role(models.TextChoices):
        MEMBER = "member"  # of the installation nothing: what their projects give
        VIEWER = "viewer"
        INVOKER = "invoker"
        DEPLOYER = "deployer"
        OPERATOR = "operator"
        ADMIN = "admin"

    class SignIn(models.TextChoices):
        """How an account proves itself; never two ways at once."""

        PASSWORD = "password", "password"
        # A password that counts where those of others do not.
        BREAK_GLASS = "break_glass", "break-glass password"
        OIDC = "oidc", "single sign-on"
        HEADER = "header", "the proxy's header"
        SERVICE = "service", "token"  # a program: no person, and no browser

    role = models.CharField(max_length=16, choices=Role, default=Role.VIEWER)
    sign_in = models.CharField(
        max_length=16, choices=SignIn, default=SignIn.PASSWORD, db_default="password"
    )
    # Issuer and name there; null: whoever first comes by that way with this user name.
    subject = models.CharField(max_length=512, null=True, blank=True, unique=True)


class SecondFactor(Stamped):
    """What signs a person in beside the password (``second_factor``)."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    sealed_secret = models.TextField()
    begun_at = models.DateTimeField()  # when its secret was shown
    confirmed_at = models.DateTimeField(null=True, blank=True)  # null: no code came yet
    last_step = models.BigIntegerField(default=-1)  # of the newest code that was used
    recovery = models.JSONField(default=list)  # keyed digests of the codes that are left

    def __str__(self) -> str:
        return f"second factor of {self.user_id}"


class ApiToken(Stamped):
    """A bearer token of a user; only its SHA-256 is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)  # of policy.SCOPES; empty: all that its user may
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}"


class BrowserSession(Stamped):
    """A sign-in of a browser, beside Django's session, which knows neither its user nor its use."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="browser_sessions")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.CharField(max_length=64, blank=True)
    agent = models.CharField(max_length=255, blank=True)  # as the browser names itself
    last_seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user_id} from {self.address}"


class SignInCounter(models.Model):
    """How often a name, or a network, was tried in vain. One row is one back-off.

    An empty ``network`` is the name from everywhere it never signed in from; an empty ``name`` is
    the network whatever name it tries; with both it is a name where it has signed in before.
    """

    name = models.CharField(max_length=150, blank=True)
    network = models.CharField(max_length=64, blank=True)
    failures = models.PositiveIntegerField(default=0)
    tried_at = models.DateTimeField(db_index=True)
    opened_at = models.DateTimeField(null=True, blank=True)  # last signed in, with both

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "network"], name="one_counter")]

    def __str__(self) -> str:
        return f"{self.name or 'any name'} from {self.network or 'anywhere'}"


class IdempotentRequest(Stamped):
    """A write with an `Idempotency-Key`, and the answer that it got; status 0: not yet."""

    user = models.ForeignKey(User, on_delete=models.CASCADE)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)  # of method, path and body
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(blank=True)  # sealed

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.key}"


class SetupToken(Stamped):
    """Opens the first-run page once, for the first administrator; only its SHA-256 is kept."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="setup_token")
    token_hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"set-up of {self.user_id}"


class Project(Stamped):
    """A namespace over models, endpoints and environments, with members and a quota.

    Its name is its key, so that rows say whose they are without another query; it never changes.
    """

    project_paths: ClassVar[tuple[str, ...]] = ("name",)

    name = models.CharField(max_length=32, primary_key=True)
    display_name = models.CharField(max_length=100, blank=True)
    archived = models.BooleanField(default=False)
    # null: as many as the nodes, and the disks, take
    max_replicas = models.PositiveIntegerField(null=True, blank=True)
    max_gpus = models.PositiveIntegerField(null=True, blank=True)
    max_bytes = models.BigIntegerField(null=True, blank=True)  # of the versions of its models
    created_by = models.CharField(max_length=150)

    objects = ScopedManager["Project"]()
    everything = models.Manager["Project"]()

    def __str__(self) -> str:
        return self.name


class Membership(Stamped):
    """A role in one project, beside that of the account, which counts in all of them."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        INVOKER = "invoker"
        DEPLOYER = "deployer"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_per_member")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.project_id}: {self.role}"


class Scoped(models.Model):
    """A row of a project, by itself or by what it is a part of: ``project_paths`` says where.

    ``objects`` keeps to what the caller may see, and so do relations; ``everything`` is for what
    counts across projects: names that are unique in the installation, room on disks and nodes.
    """

    objects = ScopedManager["Scoped"]()
    everything = models.Manager["Scoped"]()

    class Meta:
        abstract = True


class OfProject(Scoped):
    """A row that says itself which project it belongs to, from when it is made, and stays there."""

    project_paths: ClassVar[tuple[str, ...]] = ("project",)

    project = models.ForeignKey(
        Project,
        on_delete=models.PROTECT,
        related_name="+",
        default=DEFAULT_PROJECT,
        db_default=DEFAULT_PROJECT,
    )

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Raises OutOfScope."""
        scope_check(self.project_name)
        super().save(*args, **kwargs)

    @property
    def project_name(self) -> str:
        """Its key, without a query: never None, as ``project_id`` would be typed."""
        return str(self.project_id)
