"""How long jobs will take: measured by method, shared jobs counted once, items without votes hardly counted."""

import pytest

from quorate.datasets import synthetic
from quorate_paper.estimate import expected
from quorate_paper.jobs import Job, settings

DATA = {"toy": synthetic(num_items=2000, num_classes=3, pool_size=5, seed=1)}
JOB = Job("toy", 5, "model-0", 3, "finexp", settings("threshold", (0.5, 0.9)))


def test_every_run_is_counted_for_the_first_part_that_has_it():
    found = expected({"one": [JOB], "two": [JOB]}, DATA)
    assert found.num_runs == 2
    assert found.parts["one"] == pytest.approx(found.seconds(JOB, 2000)) and found.parts["one"] > 0
    assert found.parts["two"] == 0.0


def test_items_that_nobody_is_asked_about_take_no_time():
    job = Job("toy", 5, "model-0", 3, "finexp", settings("threshold", (0.9,)), query_free_after=500)
    found = expected({"two-phase": [job]}, DATA)
    assert found.seconds(job, 2000) == found.seconds(job, 200_000)


def test_a_stream_too_short_for_its_job_is_left_to_the_experiment():
    job = Job("toy", 5, "model-0", 3, "finexp", settings("threshold", (0.9,)), query_free_after=5000)
    assert expected({"two-phase": [job]}, DATA).parts == {"two-phase": 0.0}
