import pickle

import numpy as np
import pytest

from quorate.errors import InvalidInput
from quorate_paper.datasets import accuracies, imagenet16h
from quorate_paper.datasets.content import has_papers_own, missing_predictions


def save(folder, *, reach, **more):
    """Six items at noise 80, 95, 80, ...; reach[m] lists the levels classifier m covers."""
    rng = np.random.default_rng(1)
    levels = np.array([80, 95] * 3)
    probs = rng.dirichlet(np.ones(16), size=(len(reach), 6)).astype(np.float32)
    for row, covers in zip(probs, reach, strict=True):
        row[~np.isin(levels, covers)] = np.nan
    models = np.array([f"m{number}" for number in range(len(reach))])
    votes = rng.integers(16, size=(6, 5)).astype(np.int8)
    np.savez(folder / "imagenet16h.npz", votes=votes, probs=probs, models=models, noise_level=levels, **more)
    return folder / "imagenet16h.npz"


def test_each_classifier_keeps_the_items_of_the_levels_it_covers(tmp_path):
    file = save(tmp_path, reach=[[80, 95], [80], [95]])
    data = imagenet16h.load(file)
    assert missing_predictions(data).sum(axis=1).tolist() == [0, 3, 3]
    assert "m1: predictions at noise 80" in data.notes
    one = imagenet16h.covered(data, "m1")
    assert (one.num_items, one.models) == (3, ("m1",))
    assert np.array_equal(one.votes, data.votes[imagenet16h.noise_levels(file) == 80])
    assert np.array_equal(one.predictions[0], data.predictions[1][::2])
    assert one.notes == (
        "read from imagenet16h.npz",
        "m1: predictions at noise 80",
        "3 of 6 items: those that m1 cover",
    )
    assert imagenet16h.load(file, model="m1").num_items == 3
    assert imagenet16h.models(tmp_path) == ("m0", "m1", "m2")


def test_fusing_takes_the_items_that_the_most_classifiers_cover(tmp_path):
    file = save(tmp_path, reach=[[80, 95], [80], [80], [95]])
    fused = imagenet16h.covered(file)
    assert (fused.models, fused.num_items) == (("m0", "m1", "m2"), 3)
    assert imagenet16h.covered(file, ["m0", "m3"]).num_items == 3


def test_models_that_share_no_item_or_do_not_exist_are_named(tmp_path):
    file = save(tmp_path, reach=[[80], [95]])
    with pytest.raises(InvalidInput, match=r"^model="):
        imagenet16h.covered(file, ["m0", "m1"])
    with pytest.raises(InvalidInput, match=r"^model=.*m0, m1"):
        imagenet16h.covered(file, "resnet")


def test_the_authors_pickle_is_read(tmp_path):
    rng = np.random.default_rng(1)
    content = {"model_confs": rng.random((3, 5, 16)), "expert_preds": rng.integers(16, size=(6, 5))}
    path = tmp_path / "data" / "imagenet-16H" / "imagenet_16h.pkl"
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(content, 4))
    data = imagenet16h.load(tmp_path)
    assert (data.votes.shape, data.predictions.shape) == ((5, 6), (3, 5, 16))
    assert "renormalised" in data.notes[0]
    assert data.models == ("paper-0", "paper-1", "paper-2")
    save(tmp_path, reach=[[80, 95]])  # an npz beside it
    assert imagenet16h.load(tmp_path).models == data.models
    assert has_papers_own(imagenet16h.covered(tmp_path, "paper-1"))
    assert imagenet16h.load(tmp_path / "imagenet16h.npz").models == ("m0",)
    with pytest.raises(InvalidInput, match=r"^path=.*noise levels"):
        imagenet16h.noise_levels(tmp_path)


@pytest.mark.parametrize("content", [[1], {"expert_preds": 1}, {"model_confs": np.ones((2, 16)), "expert_preds": 1}])
def test_other_files_are_no_known_form(tmp_path, content):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content))
    (tmp_path / "x.json").write_text("{}")
    for name in ("x.pkl", "x.json"):
        with pytest.raises(InvalidInput, match="a known form of imagenet16h"):
            imagenet16h.load(tmp_path / name)


def test_the_real_set_has_seven_classifiers_of_which_six_share_two_levels(data_dir):
    data = imagenet16h.load(data_dir)
    levels = imagenet16h.noise_levels(data_dir)
    assert (data.votes.shape, len(data.models)) == ((4800, 7), 7)
    with np.load(data_dir / "imagenet16h.npz") as archive:
        for model, reach in zip(data.models, archive["model_covers_level"], strict=True):
            rows = np.isin(levels, archive["levels"][reach])
            part = imagenet16h.covered(data, model)
            assert np.array_equal(part.votes, data.votes[rows])
            assert not missing_predictions(part).any()
    fused = imagenet16h.covered(data)
    assert (fused.num_items, len(fused.models)) == (2400, 6)
    assert "vgg19_epoch10" not in fused.models
    assert accuracies(data)[-1] == pytest.approx(0.789, abs=5e-4)
