"""Receive webhooks, with the standard library only.

python examples/receive_webhooks.py PORT SECRET
"""

import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_S = 300


def verify(secret, headers, body):
    """Whether a request is the daemon's own, as it was sent, and not an old one again."""
    webhook_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_S:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{webhook_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    signatures = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in signatures)


seen = set()


def take(webhook_id, event):
    """Do something with an event, once."""
    if webhook_id in seen:
        return  # it was taken before, and the daemon did not hear of it
    seen.add(webhook_id)
    show(f"{event['type']} {event.get('session_id', '')} {event.get('sequence', '')}")


class Receiver(BaseHTTPRequestHandler):
    """Answers only when an event was taken: what was not must come again."""

    secret = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        is_ours = verify(self.secret, self.headers, body)
        if is_ours:
            take(self.headers["webhook-id"], json.loads(body))
        self.send_response(204 if is_ours else 401)
        self.end_headers()

    def log_message(self, *words):
        """Say nothing of requests."""


def show(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    port, Receiver.secret = int(sys.argv[1]), sys.argv[2]
    with ThreadingHTTPServer(("127.0.0.1", port), Receiver) as server:
        show(f"listening on port {server.server_port}")
        server.serve_forever()
