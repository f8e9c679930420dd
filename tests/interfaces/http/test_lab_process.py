"""A run of the lab that takes too long is ended, with its process, and the next one is served."""

import pytest

from undeleted.errors import Busy, UnknownName
from undeleted.interfaces.http import lab_process
from undeleted.interfaces.http.lab_process import LabProcess

RUN = ("median", "retrain-median", "noisy-histogram", 10, 7)


@pytest.fixture
def lab():
    found = LabProcess()
    yield found
    found.close()
    found.threads.shutdown()


def test_runs_are_played_in_a_process_of_their_own(lab):
    left, right = lab.play(*RUN)
    assert left.leaks
    assert not right.leaks
    with pytest.raises(UnknownName):
        lab.play("chess", *RUN[1:])
    assert lab.play(*RUN)[0] == left, "after an error it plays on"


def test_a_run_that_takes_too_long_is_ended_and_the_next_is_played():
    """No process starts within a microsecond."""
    stuck = LabProcess(seconds=5e-7, start=5e-7)
    with pytest.raises(Busy, match="took too long"):
        stuck.play(*RUN)
    assert stuck._process is None, "nothing goes on behind it"
    stuck._seconds = stuck._start = 60.0
    assert stuck.play(*RUN)[0].leaks
    stuck._process.kill()  # as the machine might
    stuck._process.join()
    assert stuck.play(*RUN)[0].leaks
    stuck.close()


def test_only_so_many_wait(lab):
    for _ in range(lab_process.AT_ONCE):
        lab.enter()
    with pytest.raises(Busy, match="too many runs are waiting"):
        lab.enter()
    lab.leave()
    lab.enter()
