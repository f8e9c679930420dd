"""Coins are seeded by the name of the test that tosses them; servers are started for those who need one."""

import subprocess
import sys
from itertools import count

import pytest
from hypothesis import settings

from undeleted.foundations.coins import Seeded, seeded

_numbers = count()
settings.register_profile("here", deadline=None)  # a machine may stand still; tests have no clock
settings.load_profile("here")


@pytest.fixture
def coins(request: pytest.FixtureRequest) -> Seeded:
    return seeded(request.node.name)


def pytest_addoption(parser):
    parser.addoption(
        "--no-skips", action="store_true", help="fail if a test was skipped for want of something"
    )
    parser.addoption(
        "--wider-noise", type=float, help="secure noise so many times as wide: who leaves too little room?"
    )
    parser.addoption(
        "--slow-machine",
        action="store_true",
        help="keep six processes busy beside the tests: who has a clock?",
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
        told = [item for item in items if item.get_closest_marker("width")]
        items[:] = [item for item in items if item not in told]
        config.hook.pytest_deselected(items=told)


def pytest_sessionfinish(session, exitstatus):
    """What is missing on a machine that should have everything is a failure; but for these."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not session.config.getoption("--no-skips") or reporter is None:
        return
    reasons = [str(report.longrepr) for report in reporter.stats.get("skipped", [])]
    spared = ("UNDELETED_ADULT", "does not let a process be traced", "nginx is not installed")
    wanting = [reason for reason in reasons if not any(text in reason for text in spared)]
    if wanting and exitstatus == 0:
        print("\nskipped for want of something:", *wanting, sep="\n")
        session.exitstatus = 1


@pytest.fixture(scope="session")
def server():
    """A private PostgreSQL server.  Where there is none, tests that need one fail: they are not skipped."""
    from support.servers import Server

    running = Server()
    yield running
    running.remove()


@pytest.fixture
def mark():
    """A name that no other test has, for what outlives a test on a server."""
    return f"t{next(_numbers)}"
