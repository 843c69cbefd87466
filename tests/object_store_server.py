"""An S3 on a loopback port, as a process of its own: moto's application, which serves one request at a time, so that it excludes.

    python -m tests.object_store_server FOLDER

It writes its port to FOLDER/port, and to FOLDER/requests of each request the status of its answer, the method, the path, the
access key, `token` if there was a session token, `condition` if there was If-None-Match, and the bytes of both bodies. Files in FOLDER make it fail:

- `lose-answers`: a PUT to a path with the text in this file is carried out and answered by 500, once for each path: what a
  client sees whose connection breaks.
- `break-answers`: the body of the answer to a GET of a path with the text in this file ends after its half, once for each path.
- `refuse-each`: each N-th request, N being the number in this file, is answered by 503 and not carried out, as by a store that has too many.
- `ignore-conditions`: If-None-Match is not looked at, as in stores that do not know it.

With a certificate and its key in FOLDER/server.pem it listens with TLS on port 443, too: s3a takes no other of a token service.
"""

import re
import ssl
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

_KEY = re.compile(r"Credential=([^/,]+)")


class _Quiet(WSGIRequestHandler):
    def log(self, *_: Any) -> None:
        """Log requests to a file."""


class Observed:
    """The application, with a list of its requests."""

    def __init__(self, application: Callable[..., Iterable[bytes]], folder: Path) -> None:
        self._application, self._folder = application, folder
        self._requests = (folder / "requests").open("a")
        self._lost: set[str] = set()
        self._broken: set[str] = set()
        self._count = 0

    def __call__(self, environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        key = _KEY.search(environ.get("HTTP_AUTHORIZATION", ""))
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        token = "token" if "HTTP_X_AMZ_SECURITY_TOKEN" in environ else "-"
        condition = "condition" if "HTTP_IF_NONE_MATCH" in environ else "-"
        what = (method, path.replace(" ", "%20"), key[1] if key else "-", token, condition)
        if self._is_to_be_refused():
            self._note("503", *what, 0, 0)
            respond("503 Slow Down", [("Content-Length", "0")])
            return []
        if self._given("ignore-conditions") is not None:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if method == "PUT" and self._is_first("lose-answers", path, self._lost):

            def answer(_status: str, *_: Any) -> Any:
                return respond("500 Internal Server Error", [])
        else:
            answer = respond

        def noting(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            # As Arrow uploads parts, without the length of the body.
            chunked = environ.get("HTTP_X_AMZ_DECODED_CONTENT_LENGTH")
            received, sent = int(chunked or environ.get("CONTENT_LENGTH") or 0), _body_bytes(method, headers)
            self._note(status[:3], *what, received, sent)
            return answer(status, headers, *rest)

        content = self._application(environ, noting)
        if method == "GET" and self._is_first("break-answers", path, self._broken):
            body = b"".join(content)
            return [body[: len(body) // 2]]
        return content if answer is respond else []

    def _note(self, *words: object) -> None:
        print(*words, file=self._requests, flush=True)

    def _is_to_be_refused(self) -> bool:
        self._count += 1
        each = self._given("refuse-each")
        return each is not None and self._count % int(each) == 0

    def _is_first(self, name: str, path: str, before: set[str]) -> bool:
        """True once for each path with the text in a file."""
        named = self._given(name)
        is_first = path not in before and named is not None and named in path
        if is_first:
            before.add(path)
        return is_first

    def _given(self, name: str) -> str | None:
        """Return the text of a file that makes it fail, while there is one."""
        try:
            return (self._folder / name).read_text()
        except FileNotFoundError:
            return None


def _body_bytes(method: str, headers: list[tuple[str, str]]) -> int:
    lengths = (int(value) for name, value in headers if name.lower() == "content-length")
    return 0 if method == "HEAD" else next(lengths, 0)


def main(folder: Path) -> None:
    """Serve until the process is ended."""
    application = Observed(DomainDispatcherApplication(create_backend_app), folder)
    server = make_server("127.0.0.1", 0, application, threaded=False, request_handler=_Quiet)
    certificate = folder / "server.pem"
    if certificate.exists():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        options: Any = {"threaded": False, "request_handler": _Quiet, "ssl_context": context}
        secured = make_server("127.0.0.1", 443, application, **options)
        Thread(target=secured.serve_forever, daemon=True).start()
    (folder / "port.part").write_text(str(server.port))
    (folder / "port.part").rename(folder / "port")
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
