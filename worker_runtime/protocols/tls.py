"""TLS for the listeners of every protocol."""

import ssl

from worker_runtime.types.listening import TlsFiles


def server_context(files: TlsFiles, protocol: str, kind: str) -> ssl.SSLContext:
    """A server's context that offers ``protocol`` (its ALPN name).

    ``kind`` is the front of the flags' names, for errors. Raises OSError for files that are missing
    or cannot be used.
    """
    if not files.server_cert or not files.server_key:
        raise OSError(f"TLS needs --{kind}-server-cert and --{kind}-server-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files.server_cert, files.server_key)
    context.set_alpn_protocols([protocol])
    if files.root_cert:
        context.load_verify_locations(files.root_cert)
    if files.mutual:
        context.verify_mode = ssl.CERT_REQUIRED
    return context
