import json
from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.commands.params_file import FIELDS, read_params, write_params
from quorate.errors import InvalidInput, UnknownMethod
from quorate.methods import ANONYMOUS, with_costs
from quorate.methods.encoding import method_data
from quorate.model.decision.counting import Quorum
from quorate.tables.error_cost import read_error_cost
from quorate.types import PriorParams
from tests.refusals import refused

CLASSES = ("cat", "dog", "bird")
VALUE = method_data(quorate.method("value"))


@pytest.fixture
def written(tmp_path):
    return write(tmp_path / "params.json")


def write(path, *, name="value", tau=(1.0, 0.1, 3.0), bias=(0.1, -2.0, 0.3), models=("net",), **parameters):
    params = PriorParams(theta=1 / 3, phi=0.1 + 0.2, tau=np.array(tau), bias=bias)
    return write_params(
        path,
        params,
        classes=CLASSES,
        models=models,
        method=quorate.method(name, **parameters),
        pool_size=7,
        fitted_after=40,
    )


def changed(path, **fields):
    content = json.loads(path.read_text()) | fields
    path.write_text(json.dumps(content))
    return path


def test_what_is_written_is_read_back_to_the_last_bit(written):
    found = read_params(written)
    assert (found.params.theta, found.params.phi) == (1 / 3, 0.1 + 0.2)
    assert found.params.tau.tolist() == [1.0, 0.1, 3.0] and found.params.bias.tolist() == [0.1, -2.0, 0.3]
    assert (found.classes, found.models, found.pool_size, found.fitted_after) == (CLASSES, ("net",), 7, 40)
    assert found.quorate == quorate.__version__


@pytest.mark.parametrize("name", sorted(ANONYMOUS))
def test_every_method_comes_back_with_its_parameters(name, tmp_path):
    found = read_params(write(tmp_path / "params.json", name=name)).method()
    assert found == quorate.method(name)


def test_parameters_and_an_own_hyperprior_come_back(tmp_path):
    own = quorate.Hyperprior(2.0, 3.0, theta=(4.0, 1.5), phi=(1 / 3 + 1, 0.1), tau=(5.0, 2.0), tau_sd=0.5)
    found = read_params(write(tmp_path / "p.json", name="finexp", threshold=0.8, hyperprior=own)).method()
    assert found.policy.threshold == 0.8 and found.learner.hyperprior == own


def test_a_run_says_whether_what_it_learned_answers_items_without_votes(tmp_path):
    good = quorate.datasets.synthetic(num_items=600, num_classes=4, pool_size=7, seed=1)
    biased = good.predictions * [30.0, 1.0, 1.0, 1.0]  # names the first class far too often
    bad, found = replace(good, predictions=biased / biased.sum(axis=-1, keepdims=True)), []
    for number, (data, method) in enumerate([(good, "value"), (bad, "value"), (good, "finexp")]):
        quorate.run(data, method=method, out=tmp_path / str(number))
        found.append(read_params(tmp_path / str(number) / "params.json").answers_proved)
    assert found == [False, True, True]


def test_two_models_have_a_row_of_tau_each(tmp_path):
    path = write(tmp_path / "params.json", tau=np.ones((2, 3)), models=("a", "b"), bias=None)
    found = read_params(path)
    assert found.params.tau.shape == (2, 3) and found.params.bias is None


def test_nothing_is_left_beside_and_an_old_file_survives_a_refused_write(written):
    before = written.read_bytes()
    with refused("models"):
        write(written, models=())
    assert written.read_bytes() == before and [each.name for each in written.parent.iterdir()] == ["params.json"]


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_field_is_named(written, name):
    content = json.loads(written.read_text())
    del content[name]
    written.write_text(json.dumps(content))
    with pytest.raises(InvalidInput) as caught:
        read_params(written)
    assert (caught.value.field, caught.value.place) == (name, str(written))


def test_limits_costs_and_how_labels_were_read_come_back(tmp_path):
    costs = read_error_cost({CLASSES[1]: {CLASSES[0]: 500}}, CLASSES)
    more = {"min_votes": 1, "max_votes": 3, "abstain_labels": ["NA"], "pool_rule": "largest-recorded"}
    path = write_params(
        tmp_path / "p.json", PriorParams(1, 1, np.ones(3)), classes=CLASSES, models=["net"], pool_size=3,
        method=with_costs(quorate.method("value"), costs), fitted_after=0, **more,
    )  # fmt: skip
    found = read_params(path)
    assert found.costs == found.method().costs == costs
    assert {name: getattr(found, name) for name in more} == more | {"abstain_labels": ("NA",)}
    with refused("max_votes"):
        read_params(changed(path, min_votes=4))


@pytest.mark.parametrize("version", [0, 2, 4, "3", 3.0, None, True])
def test_an_unknown_version_is_refused(written, version):
    with refused("version"):
        read_params(changed(written, version=version))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", "other"), ("classes", ["cat", "dog"]), ("classes", "cat"), ("classes", ["a", "a", "b"]),
        ("models", []), ("models", [1]), ("models", ["a", "a"]),
        ("theta", 0), ("theta", "4"), ("theta", True), ("theta", [1]), ("phi", -1), ("tau", [1, 1, 1]),
        ("tau", [[1, 1]]), ("tau", [[1, 1, 0]]), ("tau", [[1, 1, None]]), ("tau", [[1, 1, 1], [1, 1, 1]]),
        ("bias", [0, 0]), ("bias", [0, 0, "x"]), ("pool_size", 0), ("pool_size", 2.5), ("fitted_after", -1),
        ("answers_proved", 1), ("pool_rule", "mean"), ("min_votes", -1), ("max_votes", 1.5), ("error_cost", [[0, 1]]),
        ("error_cost", {"nobody": {"x": 1}}), ("error_cost", {}), ("abstain_labels", "NA"), ("abstain_labels", [""]),
        ("quorate", 1), ("method", "value"), ("method", {"name": "value"}),
        ("method", VALUE | {"policy": 3}), ("method", VALUE | {"extra": 1}),
    ],
)  # fmt: skip
def test_a_bad_field_is_refused_and_named(written, name, value):
    with pytest.raises(InvalidInput) as caught:
        read_params(changed(written, **{name: value}))
    assert caught.value.field.split("[")[0] == ("tau" if value == ["cat", "dog"] else name)


def test_unknown_methods_parameters_and_fields_are_refused(written):
    with refused("method", UnknownMethod):
        read_params(changed(written, method={"name": "oracle", "parameters": {}}))
    with pytest.raises(UnknownMethod, match="sureness"):
        read_params(changed(written, method=VALUE | {"policy": VALUE["policy"] | {"sureness": 1}}))
    with refused("extra"):
        read_params(changed(written, extra=1))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1, "format": 2}', '{"theta": NaN}', "[" * 100_000])
def test_what_is_no_params_file_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "params.json"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_params(path)
    assert "params.json" in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with refused("params"):
        read_params(tmp_path / "nowhere.json")


def test_a_method_around_an_own_policy_is_kept_but_cannot_be_rebuilt(tmp_path):
    own = quorate.method(type("Own", (Quorum,), {})(2))
    path = write_params(
        tmp_path / "p.json", PriorParams(1, 1, np.ones(3)), classes=CLASSES, models=["net"], method=own, pool_size=3,
        fitted_after=0,
    )  # fmt: skip
    with refused("policy", UnknownMethod):
        read_params(path).method()
