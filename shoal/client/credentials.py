"""Tokens in the system's keyring, where there is one. Imported on use: the library is slow.

Desktops have one (Keychain, Credential Locker, Secret Service, KWallet); servers, containers and CI
have none, and then the login file keeps the token.
"""

import keyring
from keyring.errors import KeyringError

from shoal.client.errors import ShoalError

SERVICE = "shoal"


def keep(url: str, username: str, token: str) -> str:
    """The name of the keyring that has the token now; empty where none takes it."""
    backend = keyring.get_keyring()
    # why: 0 and less are those that refuse, forget, or only pass on to nobody
    if backend.priority <= 0:
        return ""
    try:
        keyring.set_password(SERVICE, _account(url, username), token)
        kept = keyring.get_password(SERVICE, _account(url, username)) == token
    except (KeyringError, OSError, RuntimeError):
        # locked, no session bus, or its service died: the file does
        return ""
    return str(backend.name) if kept else ""


def recall(url: str, username: str) -> str:
    """Raises ShoalError when the keyring does not give it."""
    reason = "it is not there"
    try:
        token = keyring.get_password(SERVICE, _account(url, username))
    except (KeyringError, OSError, RuntimeError) as error:
        token, reason = None, str(error) or type(error).__name__
    if token is None:
        raise ShoalError(
            "The keyring does not give the token",
            f"{username} at {url}: {reason}",
            ["Unlock the keyring, or `shoal login` again.", "SHOAL_TOKEN goes before it."],
        )
    return token


def forget(url: str, username: str) -> None:
    """Nothing happens where it is not kept."""
    try:
        keyring.delete_password(SERVICE, _account(url, username))
    except (KeyringError, OSError, RuntimeError):
        return


def _account(url: str, username: str) -> str:
    return f"{username}@{url}"
