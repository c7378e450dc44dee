"""Writes of accounts: people, their sessions and their tokens. Each is a row and an event."""

from controlplane.accounts.services.identities import identity_sign_in, remote_user_refused
from controlplane.accounts.services.second_factors import (
    second_factor_begin,
    second_factor_confirm,
    second_factor_disable,
    second_factor_reset,
)
from controlplane.accounts.services.service_accounts import (
    service_account_create,
    service_account_delete,
    service_account_role,
    service_account_rotate,
)
from controlplane.accounts.services.sessions import (
    session_begin,
    session_end,
    session_failed,
    session_open,
    session_revoke,
    session_touch,
    sessions_end_all,
    sessions_prune,
)
from controlplane.accounts.services.setup import setup_finish, setup_token_make
from controlplane.accounts.services.sign_in_throttle import (
    attempt_begin_alone,
    attempt_begin_unnamed,
    attempt_withdraw,
    counters_prune,
)
from controlplane.accounts.services.tokens import (
    token_create,
    token_delete,
    token_refused,
    token_replace,
    token_touch,
)
from controlplane.accounts.services.users import (
    administrator_ensure,
    break_glass,
    password_change,
    password_set,
    user_create,
    user_update,
)

__all__ = [
    "administrator_ensure",
    "attempt_begin_alone",
    "attempt_begin_unnamed",
    "attempt_withdraw",
    "break_glass",
    "counters_prune",
    "identity_sign_in",
    "password_change",
    "password_set",
    "remote_user_refused",
    "second_factor_begin",
    "second_factor_confirm",
    "second_factor_disable",
    "second_factor_reset",
    "service_account_create",
    "service_account_delete",
    "service_account_role",
    "service_account_rotate",
    "session_begin",
    "session_end",
    "session_failed",
    "session_open",
    "session_revoke",
    "session_touch",
    "sessions_end_all",
    "sessions_prune",
    "setup_finish",
    "setup_token_make",
    "token_create",
    "token_delete",
    "token_refused",
    "token_replace",
    "token_touch",
    "user_create",
    "user_update",
]
