from dataclasses import fields, replace
from pickle import dumps, loads

import pytest

from quorate.paper.design import Job, digest, settings

JOB = Job("toy", 5, "model-0", 3, "finexp", settings("threshold", (0.5, 0.9)))
OTHERS = {
    "data": "toys",
    "pool_size": 6,
    "model": "model-1",
    "seed": 4,
    "method": "infexp",
    "knobs": settings("threshold", (0.5, 0.91)),
    "window": None,
    "refit_every": 10,
    "query_free_after": 100,
    "keep_items": True,
    "variant": "as-published",
}


def named(job, data="d", code="c"):
    return digest(job, data=data, code=code)


@pytest.mark.parametrize("field", [field.name for field in fields(Job)])
def test_another_value_of_any_field_is_another_result(field):
    assert named(replace(JOB, **{field: OTHERS[field]})) != named(JOB)


def test_other_data_or_code_is_another_result():
    assert len({named(JOB), named(JOB, data="e"), named(JOB, code="e"), named(JOB, data="c", code="d")}) == 4


def test_the_order_and_the_number_of_the_knobs_count():
    first, second = JOB.knobs
    names = {named(replace(JOB, knobs=knobs)) for knobs in ((first,), (second,), (second, first), JOB.knobs)}
    assert len(names) == 4


def test_a_name_is_the_same_in_every_process():
    assert named(JOB) == "5d3cc513d61170a97fc3e23fa164e85c8a8d8cc57029134dd374d24af302f872"


def test_a_job_travels():
    there = loads(dumps(JOB))  # as it does to a worker
    assert there == JOB
    assert hash(there) == hash(JOB)


def test_what_takes_longer_weighs_more():
    learned, fixed, drawn = (replace(JOB, method=name) for name in ("quorate", "fixed-finexp", "random"))
    assert drawn.weight < fixed.weight < learned.weight < replace(learned, pool_size=50).weight
    assert replace(learned, model="all").weight > learned.weight
    assert replace(JOB, variant="as-published").weight > 10 * JOB.weight
    assert replace(learned, knobs=JOB.knobs * 3).weight == 3 * learned.weight


def test_knobs_that_do_not_matter_to_a_walk_hardly_weigh():
    fixed = replace(JOB, method="fixed-infexp")
    assert replace(fixed, knobs=JOB.knobs * 10).weight < 2 * fixed.weight
