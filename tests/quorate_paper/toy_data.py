"""A folder with small synthetic versions of the four data sets in their npz form; and a small experiment."""

from pathlib import Path

import numpy as np

from quorate.reports.section import Claim, Figure, Section, Table
from quorate_paper.jobs import Job, settings
from quorate_paper.report import Context

NOISE = (80, 95, 110, 125)


def write_toy_data(folder: Path, *, items: int = 40) -> Path:
    """cifar10h, imagenet16h, imagenet16h_shift and chaosnli, of a few items each; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _save(folder / "cifar10h.npz", seed=1, items=items, classes=10, votes=50, models=("weak", "strong"))
    levels = np.repeat(NOISE, items // 4)
    _save(
        folder / "imagenet16h.npz", seed=2, items=len(levels), classes=16, votes=6, models=("wide", "narrow"),
        covers=np.stack([levels > 0, levels == 80]), noise_level=levels,
    )  # fmt: skip
    _save(
        folder / "imagenet16h_shift.npz", seed=3, items=items, classes=16, votes=6,
        models=("alexnet", "vgg"), is_post_shift=np.arange(items) >= items // 2,
    )  # fmt: skip
    _save(folder / "chaosnli_snli.npz", seed=4, items=items, classes=3, votes=100, models=("bert", "bart"), counts=True)
    return folder


def _save(path, *, seed, items, classes, votes, models, covers=None, counts=False, **more):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=items)
    agree = rng.random((items, votes)) < 0.7
    cast = np.where(agree, truth[:, None], rng.integers(classes, size=(items, votes)))
    scores = rng.normal(size=(len(models), items, classes))
    scores[:, np.arange(items), truth] += 2.0
    probs = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    if covers is not None:
        probs[~covers] = np.nan
    cells = {"counts": np.stack([(cast == k).sum(axis=1) for k in range(classes)], axis=1)} if counts else {}
    np.savez(
        path, probs=probs, models=np.array(models), classes=np.array([f"class-{k}" for k in range(classes)]),
        **(cells or {"votes": cast.astype(np.int8)}), **more,
    )  # fmt: skip


def toy_section(context: Context) -> Section:
    """Two methods on the shift set, with one of everything that a section can hold."""
    if "imagenet16h_shift" not in context.datasets:
        return Section("toy", "Toy", ("No data.",), (), (), ())
    jobs = [
        Job("imagenet16h_shift", 6, model, seed, name, settings(*parameter))
        for model in ("alexnet", "vgg")
        for seed in context.seeds
        for name, parameter in (
            ("finexp", ("threshold", (0.5, 0.9))),
            ("random", ("query_rate", (0.0, 0.5, 1.0))),
            ("until-settled", (None,)),
        )
    ]
    done = context.run(jobs)
    errors = {job: 100 * float(done[job].mean_errors[-1]) for job in jobs}
    rows = tuple((job.method, job.model, errors[job], float("nan"), "agrees") for job in jobs)
    return Section(
        key="shift",
        title="A toy <shift>",
        lead=("Two methods on forty items.",),
        claims=(Claim("until-settled errs least", True, "as measured", "section 4.4"), Claim("2 < 1", False, "2 > 1")),
        tables=(Table("errors", "Errors & costs", ("method", "model", "error, %", "se", "verdict"), rows),),
        figures=(Figure("bars", "Bars", "What each errs.", "Bars of errors", lambda f: _draw(f, errors)),),
        cautions=("Not the paper's data.",),
        summary={"shift_table": [{"method": job.method, "ours": error, "se": np.nan} for job, error in errors.items()]},
    )


def _draw(figure, errors):
    figure.subplots().bar(range(len(errors)), list(errors.values()))
