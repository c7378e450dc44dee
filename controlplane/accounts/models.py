"""Who may do what: users with one role each, and their API tokens."""

from django.contrib.auth.models import AbstractUser
from django.db import models

from controlplane.core.models import Stamped


class User(AbstractUser):
    class Role(models.TextChoices):
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
