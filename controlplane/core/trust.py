"""Whom the control plane trusts where it calls others."""

import ssl


def trusted() -> ssl.SSLContext:
    """Whom browsers trust, for machines that come without any; and whom this machine does (or
    SSL_CERT_FILE names), for servers of one's own."""
    import httpx  # noqa: PLC0415 - half a second of imports, for who calls somebody

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context
