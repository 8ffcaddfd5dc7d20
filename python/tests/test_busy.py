"""What a client does with servers that are busy, slow or broken: a server that says so."""

import http.server
import threading

import pytest

import ergoflow as ef


class Busy(http.server.BaseHTTPRequestHandler):
    refusals = 0
    asked = 0

    def do_GET(self):
        Busy.asked += 1
        if Busy.asked <= Busy.refusals:
            self.answer(503, b'{"detail": "too many requests wait", "hint": "ask again after 1 s"}', "application/problem+json")
        elif self.path == "/v1/models":
            self.answer(200, b'{"models": []}', "application/json")

    def do_POST(self):
        self.answer(500, b"<html>broken</html>", "text/html")

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", "0.01")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def busy():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Busy.asked = 0
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_busy_servers_are_asked_again(busy):
    Busy.refusals = 3
    with ef.Client(busy) as client:
        assert client.models() == [] and Busy.asked == 4


def test_and_not_for_ever(busy):
    Busy.refusals = 100
    with ef.Client(busy, retries=2) as client, pytest.raises(ef.Busy) as info:
        client.models()
    assert Busy.asked == 3 and info.value.hint


def test_an_answer_that_is_no_problem(busy):
    with ef.Client(busy) as client, pytest.raises(ef.ServerError) as info:
        client.sample("-x", "1")
    assert info.value.status == 500
