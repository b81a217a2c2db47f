import numpy as np

from quorate_paper.jobs import ARRAYS, Job, JobOutcome, settings


def outcome(**changed):
    arrays = {
        "sizes": np.array([1, 3]),
        "costs": np.array([[4.0, 0.0], [1.0, 1.0]]),
        "errors": np.array([[0.0, 1.0], [0.5, 0.5]]),
        "drawn_errors": np.zeros((2, 2)),
        "confidence": np.ones((2, 2)),
        "params": np.zeros((2, 0)),
        "item_costs": np.zeros((2, 0), dtype=np.int32),
        "item_errors": np.zeros((2, 0), dtype=np.float32),
    }
    return JobOutcome(job=Job("toy", 5, "m", 3, "random", settings("query_rate", (0.2, 0.4))), **arrays | changed)


def test_phases_weigh_by_their_items():
    assert outcome().mean_costs.tolist() == [1.0, 1.0]
    assert outcome().mean_errors.tolist() == [0.75, 0.5]


def test_what_is_stored_is_the_result_alone():
    arrays = outcome(seconds=3.0).arrays()
    assert set(arrays) == set(ARRAYS)
    assert not {"job", "seconds"} & set(arrays)
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
