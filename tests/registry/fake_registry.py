"""Implements the part of a Schema Registry's HTTP API that serializers and readers use; schemas are stored unchanged."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Schema = dict[str, Any]


class Registry:
    """Schemas by id, the ids of each subject's versions, and subject and version of those that are soft-deleted."""

    def __init__(self, schemas: dict[int, Schema], subjects: dict[str, list[int]]) -> None:
        self.schemas, self.subjects = schemas, subjects
        self.soft_deleted: set[tuple[str, int]] = set()
        self.requests: list[str] = []
        self.url = ""

    def register(self, subject: str, schema: Schema) -> int:
        """Return the id of a schema; equal schemas have the same id."""
        kept = {name: schema[name] for name in ("schema", "schemaType", "references") if schema.get(name)}
        number = next((one for one, known in self.schemas.items() if known == kept), 100_000 + len(self.schemas))
        self.schemas[number] = kept
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def answer(self, method: str, target: str, body: Schema) -> tuple[int, Any]:
        """Return status and body."""
        parts = [unquote(part) for part in urlsplit(target).path.strip("/").split("/")]
        query = parse_qs(urlsplit(target).query)
        form = query.get("format")
        match method, parts:
            case "GET", ["schemas", "ids", number]:
                schema = self.schemas.get(int(number))
                return (200, _shown(schema, form)) if schema else (404, {"error_code": 40403})
            case "GET", ["subjects", subject, "versions", version]:
                versions = self.subjects.get(subject, ())
                is_hidden = (subject, int(version)) in self.soft_deleted and query.get("deleted") != ["true"]
                if is_hidden or int(version) > len(versions):
                    return 404, {"error_code": 40402}
                number = versions[int(version) - 1]
                return 200, _shown(self.schemas[number], form) | _place(subject, int(version), number)
            case "POST", ["subjects", subject, "versions"]:
                number = self.register(subject, body)
                return 200, _place(subject, self.subjects[subject].index(number) + 1, number) | body
            case "POST", ["subjects", subject]:
                number = self.register(subject, body)
                return 200, _place(subject, self.subjects[subject].index(number) + 1, number) | body
        return 404, {"error_code": 404, "message": target}


def _place(subject: str, version: int, number: int) -> Schema:
    return {"subject": subject, "version": version, "id": number}


def _shown(schema: Schema, form: list[str] | None) -> Schema:
    """A registry returns Protobuf as text unless `serialized` is requested, so readers must request it."""
    if schema.get("schemaType") == "PROTOBUF" and form != ["serialized"]:
        return schema | {"schema": 'syntax = "proto3";'}
    return schema


@contextmanager
def serving(registry: Registry) -> Iterator[Registry]:
    """Serve the registry on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            registry.requests.append(self.path)
            status, answer = registry.answer(self.command, self.path, body)
            encoded = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = _answer  # noqa: N815  names of http.server

        def log_message(self, *_: Any) -> None:
            """Print nothing to standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        registry.url = f"http://127.0.0.1:{server.server_port}"
        yield registry
        server.shutdown()
        thread.join()


def text_of(raw: bytes) -> str:
    """Return the bytes in the form that the samples have."""
    return base64.b64encode(raw).decode()
