"""Makes the items of `quorate serve --demo`: handwritten digits, a real classifier's predictions, and how people vote.

`python benchmarks/demo_digits.py` (needs scikit-learn and Pillow) writes src/quorate_service/demo_digits.npz.

The images are the test set of Optical Recognition of Handwritten Digits (Alpaydin and Kaynak, 1998; UCI, CC BY 4.0) as
scikit-learn ships it. The classifier is a logistic regression trained on 120 other images, so that its errors are
realistic; the simulated colleagues vote by the nearest neighbours among 900 others, so they disagree on digits that
look similar.
"""

import io
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

TO = Path(__file__).parents[1] / "src/quorate_service/demo_digits.npz"
NUM_ITEMS, NUM_TRAINED, SEED = 600, 120, 11
SIDE, MARGIN, SCALE, WHITE = 8, 2, 8, 16.0
GREYS = 16


def png(pixels):
    """One digit (64,), dark on light, with a margin, smoothly enlarged, as a PNG of 16 greys."""
    small = np.pad(1.0 - pixels.reshape(SIDE, SIDE) / WHITE, MARGIN, constant_values=1.0).astype(np.float32)
    side = SCALE * len(small)
    large = np.asarray(Image.fromarray(small).resize((side, side), Image.Resampling.BILINEAR))
    image = Image.fromarray(np.round((GREYS - 1) * large).astype(np.uint8), "P")
    image.putpalette([round(255 * grey / (GREYS - 1)) for grey in range(GREYS) for _ in "RGB"])
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True, bits=4)
    return file.getvalue()


def main():
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(images))
    shown, rest = order[:NUM_ITEMS], order[NUM_ITEMS:]
    classifier = LogisticRegression(C=0.02, max_iter=2000).fit(images[rest[:NUM_TRAINED]], digits[rest[:NUM_TRAINED]])
    people = KNeighborsClassifier(12, weights="distance").fit(images[rest[NUM_TRAINED:]], digits[rest[NUM_TRAINED:]])
    predictions = classifier.predict_proba(images[shown])
    votes = 0.93 * people.predict_proba(images[shown]) + 0.007
    right = (predictions.argmax(axis=1) == digits[shown]).mean()
    agreed = (predictions.argmax(axis=1) == votes.argmax(axis=1)).mean()
    files = [png(each) for each in images[shown]]
    np.savez_compressed(
        TO,
        png=np.frombuffer(b"".join(files), dtype=np.uint8),
        ends=np.cumsum([len(file) for file in files]),
        predictions=predictions.astype(np.float32),
        votes=(votes / votes.sum(axis=1, keepdims=True)).astype(np.float32),
    )
    print(f"{NUM_ITEMS} digits, {TO.stat().st_size / 1024:.0f} KB; classifier right on {right:.1%}")
    print(f"it agrees with the colleagues on {agreed:.1%}; their mean certainty is {votes.max(axis=1).mean():.1%}")


if __name__ == "__main__":
    main()
