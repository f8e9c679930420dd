"""Fixtures: coins seeded by the test's name, a PostgreSQL server for the tests that need one; options."""

import subprocess
import sys
from itertools import count

import pytest
from hypothesis import settings

from undeleted.foundations.coins import Seeded, seeded

_numbers = count()
settings.register_profile("here", deadline=None)  # the machine may be slow; tests must not depend on time
settings.load_profile("here")


@pytest.fixture
def coins(request: pytest.FixtureRequest) -> Seeded:
    return seeded(request.node.name)


def pytest_addoption(parser):
    parser.addoption(
        "--no-skips", action="store_true", help="fail if a test was skipped because something is missing"
    )
    parser.addoption(
        "--wider-noise", type=float, help="multiply the width of secure noise, to find tests without margin"
    )
    parser.addoption(
        "--slow-machine",
        action="store_true",
        help="keep six processes busy during the tests, to find tests that depend on time",
    )


BUSY = 6
_busy: list[subprocess.Popen[bytes]] = []


def pytest_sessionstart(session):
    if session.config.getoption("--slow-machine") and not hasattr(session.config, "workerinput"):
        _busy.extend(subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY))


def pytest_unconfigure(config):
    while _busy:
        process = _busy.pop()
        process.kill()
        process.wait()


def pytest_configure(config):
    if times := config.getoption("--wider-noise"):
        from support.noise import widen_everywhere

        widen_everywhere(times)


def pytest_collection_modifyitems(config, items):
    if config.getoption("--wider-noise"):
        marked = [item for item in items if item.get_closest_marker("width")]
        items[:] = [item for item in items if item not in marked]
        config.hook.pytest_deselected(items=marked)


def pytest_sessionfinish(session, exitstatus):
    """With --no-skips, fail the session if a test was skipped, except for the reasons listed here."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not session.config.getoption("--no-skips") or reporter is None:
        return
    reasons = [str(report.longrepr) for report in reporter.stats.get("skipped", [])]
    spared = ("UNDELETED_ADULT", "does not let a process be traced", "nginx is not installed")
    unexpected = [reason for reason in reasons if not any(text in reason for text in spared)]
    if unexpected and exitstatus == 0:
        print("\nskipped because something is missing:", *unexpected, sep="\n")
        session.exitstatus = 1


@pytest.fixture(scope="session")
def server():
    """A private PostgreSQL server.  If PostgreSQL is not installed, the tests fail; they are not skipped."""
    from support.servers import Server

    running = Server()
    yield running
    running.remove()


@pytest.fixture
def mark():
    """A unique name for objects on the server that outlive a test."""
    return f"t{next(_numbers)}"
