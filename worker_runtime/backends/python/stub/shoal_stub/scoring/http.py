"""``AMLRequest``, ``AMLResponse``, ``rawhttp``: what scripts know of HTTP, in Flask's words."""

import io
import json
import shutil
from collections.abc import Iterable, Iterator, MutableMapping
from email.message import Message
from typing import Any, Callable, Optional
from urllib.parse import parse_qsl

_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_RAW = "_shoal_raw_http"


class Refused(Exception):
    """A request that the script is not asked about; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def rawhttp(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """Marks a ``run`` that takes the whole request, an ``AMLRequest``."""
    setattr(function, _RAW, True)
    return function


def is_raw(function: Any) -> bool:
    return bool(getattr(function, _RAW, False))


class Headers(MutableMapping[str, str]):
    """Names in any case, in the order in which they were added; a name may come twice."""

    def __init__(self, items: "Iterable[tuple[str, str]]" = ()) -> None:
        self._items = [(str(name), str(value)) for name, value in items]

    def __getitem__(self, name: str) -> str:
        for value in self.getlist(name):
            return value
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.remove(name)
        self.add(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.remove(name)

    def __iter__(self) -> "Iterator[str]":
        return iter(dict.fromkeys(name for name, _ in self._items))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def getlist(self, name: str) -> "list[str]":
        wanted = str(name).lower()
        return [value for given, value in self._items if given.lower() == wanted]

    def add(self, name: str, value: Any) -> None:
        self._items.append((str(name), str(value)))

    def remove(self, name: str) -> None:
        wanted = str(name).lower()
        self._items = [item for item in self._items if item[0].lower() != wanted]

    def pairs(self) -> "list[tuple[str, str]]":
        return list(self._items)


class MultiDict(dict[str, Any]):
    """The first value of each name; ``getlist`` has all of them."""

    def __init__(self, items: "Iterable[tuple[str, Any]]" = ()) -> None:
        super().__init__()
        self._lists: dict[str, list[Any]] = {}
        for name, value in items:
            self.setdefault(name, value)
            self._lists.setdefault(name, []).append(value)

    def getlist(self, name: str) -> "list[Any]":
        return list(self._lists.get(name, []))

    def to_dict(self, flat: bool = True) -> "dict[str, Any]":
        return dict(self) if flat else {name: list(found) for name, found in self._lists.items()}


class FileStorage:
    """A file of a multipart form."""

    def __init__(self, name: str, filename: str, content_type: str, data: bytes) -> None:
        self.name, self.filename = name, filename
        self.content_type = self.mimetype = content_type
        self.stream = io.BytesIO(data)

    def read(self, *size: int) -> bytes:
        return self.stream.read(*size)

    def seek(self, *place: int) -> int:
        return self.stream.seek(*place)

    def save(self, target: Any) -> None:
        if hasattr(target, "write"):
            shutil.copyfileobj(self.stream, target)
            return
        with open(target, "wb") as file:
            shutil.copyfileobj(self.stream, file)


class AMLRequest:
    """One request, as Flask shows it: ``method``, ``args``, ``headers``, ``data``, ``files``."""

    def __init__(
        self,
        method: str = "POST",
        path: str = "/score",
        query: str = "",
        headers: "Iterable[tuple[str, str]]" = (),
        body: bytes = b"",
    ) -> None:
        self.method, self.path = method, path
        self.query_string = query.encode("latin-1", "replace")
        self.headers = Headers(headers)
        self.data = body
        self.args = MultiDict(parse_qsl(query, keep_blank_values=True))
        self._form: Optional[tuple[MultiDict, MultiDict]] = None

    @property
    def full_path(self) -> str:
        return f"{self.path}?{self.query_string.decode('latin-1')}"

    @property
    def host(self) -> str:
        return self.headers.get("Host", "localhost")

    @property
    def base_url(self) -> str:
        return f"http://{self.host}{self.path}"

    @property
    def url(self) -> str:
        return f"{self.base_url}?{self.query_string.decode('latin-1')}".rstrip("?")

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def mimetype(self) -> str:
        return self.content_type.split(";")[0].strip().lower()

    @property
    def content_length(self) -> int:
        return len(self.data)

    @property
    def stream(self) -> io.BytesIO:
        return io.BytesIO(self.data)

    @property
    def is_json(self) -> bool:
        kind = self.mimetype
        return kind == "application/json" or (
            kind.startswith("application/") and kind.endswith("+json")
        )

    @property
    def json(self) -> Any:
        return self.get_json()

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:
        """Raises Refused: 415 for another content type, 400 for what is no JSON."""
        del cache
        if not (force or self.is_json):
            if silent:
                return None
            raise Refused(415, f"Content-Type is {self.content_type!r}, expected application/json")
        try:
            return json.loads(self.data)
        except ValueError as error:
            if silent:
                return None
            raise Refused(400, f"The body is no JSON: {error}") from None

    def get_data(
        self, cache: bool = True, as_text: bool = False, parse_form_data: bool = False
    ) -> Any:
        del cache, parse_form_data
        return self.data.decode("utf-8", "replace") if as_text else self.data

    @property
    def form(self) -> MultiDict:
        return self._parsed()[0]

    @property
    def files(self) -> MultiDict:
        return self._parsed()[1]

    @property
    def values(self) -> MultiDict:
        both = (self.args, self.form)
        return MultiDict((k, v) for found in both for k in found for v in found.getlist(k))

    def _parsed(self) -> "tuple[MultiDict, MultiDict]":
        if self._form is None:
            fields: list[tuple[str, str]] = []
            files: list[tuple[str, FileStorage]] = []
            if self.mimetype == _FORM:
                fields = parse_qsl(self.data.decode("utf-8", "replace"), keep_blank_values=True)
            elif self.mimetype == _MULTIPART:
                for part in _parts(self.data, self.content_type):
                    if isinstance(part, FileStorage):
                        files.append((part.name, part))
                    else:
                        fields.append(part)
            self._form = MultiDict(fields), MultiDict(files)
        return self._form


def _parts(body: bytes, content_type: str) -> "Iterator[Any]":
    """Fields (name, text) and files of a multipart form. Raises Refused."""
    about = Message()
    about["Content-Type"] = content_type
    boundary = about.get_boundary()
    if not boundary:
        raise Refused(400, "Content-Type: multipart/form-data names no boundary")
    # why a line in front: each boundary then follows one, the first one too
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1"))
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise Refused(400, f"The multipart form has no end: --{boundary}-- is missing")
    for piece in pieces[1:-1]:
        head, found, data = piece.partition(b"\r\n\r\n")
        if not found:
            raise Refused(400, "A part of the multipart form has no headers")
        part = Message()
        for line in head.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(":")
            if name.strip():
                part[name.strip()] = value.strip()
        name = str(part.get_param("name", "", "content-disposition"))
        filename = part.get_filename()
        if filename is None:
            yield name, data.decode("utf-8", "replace")
        else:
            yield FileStorage(name, filename, part.get_content_type(), data)


class AMLResponse:
    """An answer with status and headers; a ``message`` is sent as JSON with ``json_str``."""

    def __init__(
        self,
        message: Any = None,
        status_code: int = 200,
        response_headers: "Optional[dict[str, str]]" = None,
        json_str: bool = False,
        run_function_failed: bool = False,
    ) -> None:
        self.status_code = int(status_code)
        self.headers = Headers()
        if message is None or json_str:
            message = json.dumps({} if message is None else message)
            self.content_type = "application/json"
        else:
            self.content_type = "text/html; charset=utf-8"
        self.set_data(message)
        self.headers["x-ms-run-function-failed"] = run_function_failed
        given = Headers((response_headers or {}).items())
        if "Content-Type" in given:
            self.headers.remove("Content-Type")
        for name, value in given.pairs():
            for one in value.split(","):
                self.headers.add(name, one.strip())

    @property
    def data(self) -> bytes:
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self.set_data(value)

    def get_data(self, as_text: bool = False) -> Any:
        return self._data.decode("utf-8", "replace") if as_text else self._data

    def set_data(self, value: Any) -> None:
        self._data = value.encode() if isinstance(value, str) else bytes(value)

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @content_type.setter
    def content_type(self, value: str) -> None:
        self.headers["Content-Type"] = value

    @property
    def mimetype(self) -> str:
        return self.content_type.split(";")[0].strip()

    @mimetype.setter
    def mimetype(self, value: str) -> None:
        text = value.startswith("text/") and "charset" not in value
        self.content_type = f"{value}; charset=utf-8" if text else value
