"""Serves Google's storage-testbench on a loopback port, with the batch requests that Hadoop's connector sends and it lacks.

    python tests/google_store_server.py PORT

It runs in the environment of the testbench, so it imports nothing of ours.
"""

import sys
from collections.abc import Callable, Iterable
from email.parser import BytesParser
from typing import Any

import testbench
import waitress
from werkzeug.test import Client
from werkzeug.wrappers import Request, Response

_BOUNDARY = "of-a-batch"


class Batching:
    """The application, which executes the requests of a batch in order."""

    def __init__(self, application: Any) -> None:
        self._application, self._client = application, Client(application)
        self._busy = 0  # batches that are still to be refused

    def __call__(self, environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"].startswith("/busy/"):
            self._busy = int(environ["PATH_INFO"].removeprefix("/busy/"))
            return Response()(environ, respond)
        if not environ["PATH_INFO"].startswith("/batch/"):
            answer: Iterable[bytes] = self._application(environ, respond)
            return answer
        request = Request(environ)
        if self._busy:
            self._busy -= 1
            return Response("busy", 503)(environ, respond)
        head = f"Content-Type: {request.content_type}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + request.get_data()).get_payload()
        body = b"".join(map(self._answered, parts)) + f"--{_BOUNDARY}--\r\n".encode()
        return Response(body, content_type=f"multipart/mixed; boundary={_BOUNDARY}")(environ, respond)

    def _answered(self, part: Any) -> bytes:
        """Execute one request of a batch; return its response as a part of the batch's."""
        line, _, rest = part.get_payload().partition("\r\n")
        method, url, *_ = line.split(" ")
        _, _, content = rest.partition("\r\n\r\n")
        answer = self._client.open(url, method=method, data=content.strip(), content_type="application/json")
        head = f"--{_BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: response-{part['content-id']}\r\n\r\n"
        status = (
            f"HTTP/1.1 {answer.status}\r\nContent-Type: application/json\r\nContent-Length: {len(answer.data)}\r\n\r\n"
        )
        return (head + status).encode() + answer.data + b"\r\n"


if __name__ == "__main__":
    waitress.serve(Batching(testbench.run()), host="127.0.0.1", port=int(sys.argv[1]), threads=8)
