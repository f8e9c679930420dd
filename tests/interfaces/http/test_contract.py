"""schemathesis against the OpenAPI document: with the key of every role, with a wrong one, and without any.

No answer is a 5xx or undocumented, none has another form than it should, and nobody gets past a key.
"""

import os
import subprocess
import sys

import pytest

from support.services import Published, running

pytestmark = pytest.mark.services
HOOKS = """
import schemathesis

@schemathesis.serializer("application/x-ndjson", "text/plain; version=0.0.4; charset=utf-8")
def lines(context, value):
    return value.encode() if isinstance(value, str) else str(value).encode()
"""
# 413 and 421 refuse a request too; a receipt of the right form is a text that schemathesis cannot guess
SETTINGS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 503]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 401, 403, 404, 409, 413, 422]
"""


@pytest.mark.parametrize("role", [None, "wrong", "person", "reader", "operator"])
def test_the_service_keeps_to_its_document(tmp_path, role):
    published = Published(tmp_path, people=300)
    (tmp_path / "hooks.py").write_text(HOOKS)
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    with running("--store", published.store, "--log-level", "error") as service:
        key = published.keys.get(role, "undeleted_reader_x")
        header = [] if role is None else ["-H", f"Authorization: Bearer {key}"]
        command = [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            service.told["address"] + "/v1/openapi.json",
        ]
        command += ["--max-examples", "40", "--seed", "7", "--no-color", "--continue-on-failure"]
        done = subprocess.run(
            [*command, *header],
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        said = "\n".join(line[:300] for line in done.stdout.splitlines())
        assert done.returncode == 0, said[-6000:] + done.stderr[-2000:]
        assert "19 selected / 19 total" in said
        assert '"bug"' not in service.errors()
    assert published.whole()
