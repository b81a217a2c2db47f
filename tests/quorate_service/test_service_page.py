"""docs/service.md as it stands: its commands are run in order against a real service, its nginx file by nginx."""

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from quorate_service.domain.webhooks import KINDS, PING, closed
from tests.missing import missing
from tests.processes import free_port, wait_until
from tests.quorate_service.cli.serving import Serving

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NGINX = re.search(r"^```nginx\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1)
POSTGRESQL = "postgresql://quorate@localhost/quorate"


def become_owner(service: Serving) -> None:
    """Open the link like a person in a browser."""
    form = urllib.request.Request(service.links[0], data=b"name=Owner", method="POST")
    with urllib.request.urlopen(form, timeout=30) as answer:
        assert answer.status == 200


def test_the_commands_of_the_page_run_in_its_order(tmp_path, postgres):
    if shutil.which("curl") is None:
        missing("curl", "apt-get install curl")
    assert len(COMMANDS) == 10
    url = postgres.create_database("moved")
    try:
        with Serving("--database", "quorate.db", folder=tmp_path, forked=True) as service:
            become_owner(service)
            script = "\n".join(["set -eo pipefail", *COMMANDS])
            script = script.replace("http://127.0.0.1:8000", service.url).replace(POSTGRESQL, url)
            here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            bash = {"cwd": tmp_path, "env": here, "capture_output": True, "text": True}
            done = subprocess.run(["bash", "-c", script], check=False, **bash)
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        postgres.drop_database("moved")
    assert '"added":3' in done.stdout.replace(" ", "")
    assert "/join/" in done.stdout
    assert "photo-1,cat," in (tmp_path / "decisions.csv").read_text()
    assert "photo-1," in (tmp_path / "votes.csv").read_text()
    assert '"recomputed"' in (tmp_path / "trail.json").read_text()
    assert done.stdout.count(" 0 decisions differ from their events") == 2
    assert "1 project, 3 items" in done.stdout


def test_every_kind_of_webhook_is_on_the_page():
    rows = dict(re.findall(r"^\| `([\w.]+)` \| [^|`]+ \| (.+) \|$", PAGE.partition("**Webhooks**")[2], re.MULTILINE))
    kinds = [kind for kind in rows if "." in kind or kind == PING]
    assert kinds == [*KINDS, PING]
    row = dict.fromkeys(("name", "label", "confidence", "decided_votes", "reason"))
    assert re.findall(r"`(\w+)`", rows["item.completed"]) == list(closed(row)[1])


def test_the_receiver_of_the_page_accepts_only_signed_deliveries(capsys):
    here = {}
    exec(re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1), here)
    body = re.search(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1).encode()
    secret, now = "whsec_c2VjcmV0", datetime.now(UTC)
    headers = {"Webhook-Id": "d_1", "Webhook-Timestamp": str(int(now.timestamp()))}
    headers["Webhook-Signature"] = Webhook(secret).sign("d_1", now, body.decode())
    assert here["receive"](headers, body, secret) == 204
    assert here["receive"](headers, body + b" ", secret) == 403
    assert capsys.readouterr().out == "item.completed\n"
    row = {"name": "photo-1", "label": "cat", "confidence": 0.97, "decided_votes": 3, "reason": "confident"}
    assert ("item.completed", json.loads(body)["data"]) == closed(row)


def test_several_workers_on_postgresql_print_one_link_and_share_the_database(tmp_path, postgres):
    url = postgres.create_database("workers")
    try:
        with Serving("--database", url, "--workers", "2", folder=tmp_path) as service:
            assert len(service.links) == 1
            assert service.printed.count("Serving at") == 1
            become_owner(service)
            assert {service.status("/") for _ in range(20)} == {200}
        assert "Traceback" not in service.printed
    finally:
        postgres.drop_database("workers")


@pytest.fixture
def proxy(tmp_path):
    """`proxy(upstream)`: runs nginx with the page's file, on free ports, with its own certificate; returns the port."""
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if nginx is None or shutil.which("openssl") is None:
        missing("nginx or openssl", "apt-get install nginx-light openssl")
    started = []

    def start(upstream: str) -> int:
        key, certificate, port = tmp_path / "key.pem", tmp_path / "cert.pem", free_port()
        subject = ["-subj", "/CN=labels.example.org", "-addext", "subjectAltName=DNS:localhost"]
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject]
        subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
        text = re.sub(r"ssl_certificate \S+;", f"ssl_certificate {certificate};", NGINX)
        text = re.sub(r"ssl_certificate_key \S+;", f"ssl_certificate_key {key};", text)
        text = text.replace("listen 80;", f"listen 127.0.0.1:{free_port()};").replace(
            "listen 443", f"listen 127.0.0.1:{port}"
        )
        text = text.replace("http://127.0.0.1:8000", upstream)
        paths = "".join(
            f"{name}_temp_path {tmp_path / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        file = tmp_path / "nginx.conf"
        file.write_text(
            f"pid {tmp_path / 'nginx.pid'};\nerror_log {tmp_path / 'error.log'};\ndaemon off;\nevents {{}}\n"
            f"http {{\naccess_log {tmp_path / 'access.log'};\n{paths}{text}\n}}\n"
        )
        checked = subprocess.run([nginx, "-t", "-c", str(file)], capture_output=True, text=True, check=False)
        assert "test is successful" in checked.stderr, checked.stderr
        assert "warn" not in checked.stderr
        started.append(subprocess.Popen([nginx, "-c", str(file)], stderr=subprocess.DEVNULL))
        return port

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def test_the_nginx_file_serves_it_over_tls_with_secure_cookies_and_logs_no_links(tmp_path, proxy):
    options = ["--base-url", "https://labels.example.org", "--trust-proxy"]
    with Serving("--database", "quorate.db", *options, folder=tmp_path, forked=True) as service:
        port = proxy(service.url)
        (link,) = service.links
        assert link.startswith("https://labels.example.org/link/")
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        address = link.replace("https://labels.example.org", f"https://localhost:{port}")
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted), Stay)
        headers = {"Host": "labels.example.org", "Origin": "https://labels.example.org"}
        answer = post(opener, urllib.request.Request(address, data=b"name=Owner", headers=headers, method="POST"))
        assert answer.status == 303
        cookie = answer.headers["Set-Cookie"]
        assert "Secure" in cookie
        assert "HttpOnly" in cookie
        assert answer.headers["Strict-Transport-Security"]
        post(
            opener, urllib.request.Request(f"https://localhost:{port}/healthz", headers={"Host": "labels.example.org"})
        )
        log = tmp_path / "access.log"
        wait_until(lambda: "/healthz" in log.read_text(), "a line for /healthz: nginx writes it after it answered")
        assert link.rpartition("/")[2] not in log.read_text()


class Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects."""

    def redirect_request(self, *_: object) -> None:
        return None


def post(opener, request):
    for attempt in range(50):
        try:
            with opener.open(request, timeout=30) as answer:
                return answer
        except urllib.error.HTTPError as answer:
            answer.close()
            return answer
        except OSError:
            if attempt == 49:
                raise
            time.sleep(0.1)
    raise AssertionError
