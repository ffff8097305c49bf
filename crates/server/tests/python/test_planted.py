"""The checks of test_schema.py see planted faults: a small server whose answers are not those of its document."""

import http.server
import threading

import pytest
import schemathesis
from hypothesis import given, settings
from schemathesis.core.failures import FailureGroup

from conformance import CHECKS

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "planted", "version": "1"},
    "paths": {
        "/thing": {
            "get": {
                "operationId": "thing",
                "responses": {
                    "200": {
                        "description": "a thing",
                        "headers": {"Number": {"required": True, "schema": {"type": "integer"}}},
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["count"],
                                    "properties": {"count": {"type": "integer"}},
                                }
                            }
                        },
                    },
                    "500": {"description": "documented, and yet a fault"},
                },
            }
        }
    },
}

SOUND = (200, "application/json", "7", b'{"count": 1}')

FAULTS = {
    "a 5xx": (500, "application/json", "7", b""),
    "a status that is not in the document": (202, "application/json", "7", b'{"count": 1}'),
    "another content type": (200, "text/plain", "7", b"1"),
    "a missing field": (200, "application/json", "7", b"{}"),
    "a field of another type": (200, "application/json", "7", b'{"count": "1"}'),
    "a body that is no JSON": (200, "application/json", "7", b"{"),
    "a header of another type": (200, "application/json", "seven", b'{"count": 1}'),
}


def call(answer):
    """Calls a server that always answers this, and checks its answers."""
    status, kind, number, body = answer

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Number", number)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    schema = schemathesis.openapi.from_dict(DOCUMENT)

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"

        @given(case=schema["/thing"]["GET"].as_strategy())
        @settings(max_examples=1, database=None, deadline=None)
        def run(case):
            case.call_and_validate(base_url=address, checks=CHECKS)

        try:
            run()
        finally:
            server.shutdown()


def test_a_sound_answer_passes():
    call(SOUND)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault):
    with pytest.raises(FailureGroup):
        call(FAULTS[fault])
