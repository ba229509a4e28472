"""Samples with three modes: is the third one worth keeping, or may it be flattened into another?

TensorPCA: the energy lost on held-out samples, at equal numbers kept (mean, basis, transforms made
from the data, coordinates of the fitted samples) and at equal coordinates of a sample. Every
transform of every mode at every orientation is tried; which one a layout is judged by is chosen on
a part of the fitted samples.

STPCASelector at its defaults: the share of known channels among the first, in generated recordings
of several subjects.

    python examples/higher_order.py [--output FOLDER] [--fast] [--seeds N] [--datasets N]
"""

import argparse
import os
import warnings
from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from _common import save

from tensift import STPCASelector, TensorPCA
from tensift.datasets import fetch_paper

SHARES = (0.05, 0.1, 0.2)  # of the numbers in the fitted samples
COORDINATES = (20, 100)
TRANSFORMS = ("identity", "dct", "eigen")
AMPLITUDES = (0.3, 0.4, 0.5, 0.7)


def make_clips(n, rng, shape=(12, 12, 8), noise=0.1):
    """Short films `(n, height, width, time)` of one bright blob that moves, with white noise."""
    height, width, duration = shape
    y, x, t = np.meshgrid(*(np.arange(size) for size in shape), indexing="ij")
    place = rng.uniform([2, 2], [height - 2, width - 2], (n, 2))
    speed = rng.uniform(-0.5, 0.5, (n, 2))
    size = rng.uniform(1.2, 2, n)
    films = rng.normal(scale=noise, size=(n, *shape))
    for film, (row, column), (down, right), radius in zip(films, place, speed, size, strict=True):
        time = t - (duration - 1) / 2
        film += np.exp(
            -((y - row - down * time) ** 2 + (x - column - right * time) ** 2) / (2 * radius**2)
        )
    return films


def make_recordings(amplitude, rng, n=60, channels=12, times=24, subjects=6, known=4):
    """Recordings `(n, channel, time, subject)`: responses in a few channels, noise in all.

    The known channels have less noise than the others, so that they do not stand out by variance.
    Two responses have a course in time, weights of the known channels and a gain (of either sign)
    for every subject, and differ from sample to sample in strength only.
    """
    chosen = rng.choice(channels, known, replace=False)
    spread = np.full(channels, 1.5)
    spread[chosen] = 1.0
    data = rng.normal(size=(n, channels, times, subjects)) * spread[:, None, None]
    t = np.arange(times) / times
    for _ in range(2):
        wave = np.cos(2 * np.pi * (rng.uniform(1.5, 5) * t + rng.uniform()))
        wave *= np.exp(-(((t - rng.uniform(0.3, 0.7)) / 0.25) ** 2))
        gain = rng.uniform(0.5, 1.5, subjects) * rng.choice([-1, 1], subjects)
        weights, strength = rng.normal(size=known), rng.normal(size=n)
        data[:, chosen] += amplitude * np.einsum("n,c,t,s->ncts", strength, weights, wave, gain)
    return data, chosen


def layouts(X, names):
    """The samples with three modes, with two of them made one, and with one mode."""
    n, a, b, c = X.shape
    first, second, third = names
    return {
        "three modes": X,
        f"{first} × {second}": X.reshape(n, a * b, c),
        f"{second} × {third}": X.reshape(n, a, b * c),
        f"{first} × {third}": X.transpose(0, 1, 3, 2).reshape(n, a * c, b),
        "one mode (PCA)": X.reshape(n, a * b * c, 1),
    }


def settings(shape):
    """Orientations and transforms; a mode of length one needs none."""
    for mode in range(len(shape)):
        others = shape[:mode] + shape[mode + 1 :]
        if shape[mode] > 1:
            choices = [TRANSFORMS if size > 1 else ("identity",) for size in others]
            yield from ((mode, transforms) for transforms in product(*choices))


def losses(train, test, mode, transforms):
    """Energy of `test` lost at each share of the numbers, then at each count of coordinates."""
    n, d, q = len(train), train[0].size, train.shape[mode + 1]
    others = train.shape[1 : mode + 1] + train.shape[mode + 2 :]
    made = sum(s * s for s, name in zip(others, transforms, strict=True) if name == "eigen")
    model = TensorPCA(truncation="global", orientation=mode, transform=list(transforms)).fit(train)
    explained = np.cumsum(np.sum(model.transform(test) ** 2, axis=0))
    lost = 1 - explained / np.sum((test - model.mean_) ** 2)
    counts = [int((share * train.size - d - made) // (n + q + 1)) for share in SHARES]
    return np.array(
        [lost[min(k, len(lost)) - 1] if k > 0 else np.nan for k in (*counts, *COORDINATES)]
    )


def compare(train, test, names):
    """For every layout the losses of all settings, and of those chosen without the test samples."""
    inner = len(train) * 3 // 4
    results = {}
    for (name, shaped), held_out in zip(
        layouts(train, names).items(), layouts(test, names).values(), strict=True
    ):
        tried = list(settings(shaped.shape[1:]))
        judged = np.array([losses(shaped[:inner], shaped[inner:], *one) for one in tried])
        tested = np.array([losses(shaped, held_out, *one) for one in tried])
        judged[np.isnan(judged)] = np.inf
        judged[np.isnan(tested)] = np.inf
        chosen = judged.argmin(axis=0)
        results[name] = {
            "all": tested,
            "chosen": tested[chosen, np.arange(tested.shape[1])],
            "settings": [tried[one] for one in chosen],
        }
    return results


def pca_cases(fast, seeds):
    """Name of a case, names of its modes, and a pair of sample sets for every seed."""
    sizes = (40,) if fast else (40, 200, 1000)
    for n in sizes:
        pairs = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            pairs.append((make_clips(n, rng), make_clips(200, rng)))
        yield f"clips, {n} fitted", ("height", "width", "time"), pairs
    sensors = None if fast else wearable_sensors()
    if sensors is not None:
        pairs = []
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(sensors))
            train, test = sensors[order[:100]], sensors[order[100:]]
            mean = train.mean(axis=(0, 3), keepdims=True)
            spread = train.std(axis=(0, 3), keepdims=True)
            pairs.append(((train - mean) / spread, (test - mean) / spread))
        yield "UCIDSA, 100 fitted", ("unit", "sensor", "time"), pairs


def wearable_sensors():
    """UCIDSA as `(152, 5 body units, 9 sensors, 125 times)`; None where there is no file."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not os.environ.get("TENSIFT_DATA") and beside.is_dir():
        os.environ["TENSIFT_DATA"] = str(beside)
    try:
        data = fetch_paper("UCIDSA").data
    except FileNotFoundError:
        print("UCIDSA is left out: TENSIFT_DATA names no folder that has it")
        return None
    return np.asarray(data, dtype=float).reshape(len(data), 5, 9, 125)


SELECTOR_LAYOUTS = {
    "three modes, dct and eigen": (("dct", "eigen"), None),
    "three modes, eigen and eigen": (("eigen", "eigen"), None),
    "time × subject, dct": ("dct", "time × subject"),
    "time × subject, eigen": ("eigen", "time × subject"),
    "subject × time, dct": ("dct", "subject × time"),
    "channel × subject, dct": ("dct", "channel × subject"),
    "channel × subject, eigen": ("eigen", "channel × subject"),
}


def channels_found(data, known, transforms, merged):
    """Share of known channels among the first ones."""
    n, channels, times, subjects = data.shape
    if merged == "time × subject":
        data = data.reshape(n, channels, times * subjects)
    elif merged == "subject × time":
        data = data.swapaxes(2, 3).reshape(n, channels, times * subjects)
    elif merged == "channel × subject":
        data = data.swapaxes(2, 3).reshape(n, channels * subjects, times)
    spec = list(transforms) if isinstance(transforms, tuple) else transforms
    scores = STPCASelector(1, feature_mode=0, transform=spec).fit(data).scores_
    scores = scores.reshape(channels, -1).sum(axis=1)
    return float(np.isin(np.argsort(-scores, kind="stable")[: len(known)], known).mean())


def select(amplitudes, seeds):
    """Shares `(layout, amplitude, seed)`, and those of plain variance."""
    found = {name: np.zeros((len(amplitudes), seeds)) for name in [*SELECTOR_LAYOUTS, "variance"]}
    for (place, amplitude), seed in product(enumerate(amplitudes), range(seeds)):
        data, known = make_recordings(amplitude, np.random.default_rng(seed))
        for name, layout in SELECTOR_LAYOUTS.items():
            found[name][place, seed] = channels_found(data, known, *layout)
        variance = data.var(axis=0).sum(axis=(1, 2))
        found["variance"][place, seed] = np.isin(np.argsort(-variance)[: len(known)], known).mean()
    return found


def draw(cases, found, amplitudes):
    """One panel a case and measure, and one for the selector."""
    measure = [f"{share:.0%} of the numbers" for share in SHARES]
    measure += [f"{count} coordinates" for count in COORDINATES]
    panels = [(name, place) for name in cases if "200" not in name for place in (1, 3)]
    columns = 4
    lines = -(-(len(panels) + 1) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(16, 3.9 * lines), layout="constrained", squeeze=False
    )
    flat = list(axes.flat)
    for axis, (name, place) in zip(flat, panels, strict=False):
        rounds = cases[name]
        for position, layout in enumerate(rounds[0]):
            every = np.array([one[layout]["all"][:, place] for one in rounds]).mean(axis=0)
            chosen = np.array([one[layout]["chosen"][place] for one in rounds])
            axis.plot(np.full(len(every), position), every, ".", color="0.75", zorder=1)
            axis.errorbar(
                position, chosen.mean(), chosen.std(), fmt="o", color="tab:red", capsize=3
            )
        axis.set_xticks(range(len(rounds[0])), rounds[0], fontsize=7, rotation=20)
        axis.set_title(f"{name}: {measure[place]}", fontsize=9)
        axis.set_ylabel("energy lost, held out", fontsize=8)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("{x:g}")
        axis.tick_params(axis="y", which="both", labelsize=7)
    last = flat[len(panels)]
    for name, shares in found.items():
        style = "-o" if name.startswith("three") else ":" if name == "variance" else "--s"
        last.errorbar(
            amplitudes,
            shares.mean(axis=1),
            shares.std(axis=1) / np.sqrt(shares.shape[1]),
            fmt=style,
            ms=4,
            label=name,
        )
    last.set_title("STPCASelector: known channels found", fontsize=9)
    last.set_xlabel("strength of the responses", fontsize=8)
    last.legend(fontsize=6)
    for axis in flat[len(panels) + 1 :]:
        axis.set_axis_off()
    return figure


def _cells(shares):
    errors = shares.std(axis=1, ddof=1) / np.sqrt(shares.shape[1])
    return "".join(f"{m:9.2f} ± {e:.2f}" for m, e in zip(shares.mean(axis=1), errors, strict=True))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", metavar="FOLDER", help="where the picture goes")
    parser.add_argument("--fast", action="store_true", help="less data and fewer settings")
    parser.add_argument("--seeds", type=int, default=3, help="rounds of TensorPCA (3)")
    parser.add_argument("--datasets", type=int, default=6, help="recordings for the selector (6)")
    options = parser.parse_args(argv)
    seeds, datasets = (1, 2) if options.fast else (options.seeds, options.datasets)
    cases = {}
    titles = [f"{s:.0%} numbers" for s in SHARES] + [f"{c} coord." for c in COORDINATES]
    for name, modes, pairs in pca_cases(options.fast, seeds):
        cases[name] = [compare(*pair, modes) for pair in pairs]
        print(f"\nTensorPCA, {name}: energy lost, held out (mean and spread of {seeds})")
        print(f"{'layout':28}" + "".join(f"{title:>16}" for title in titles))
        for layout in cases[name][0]:
            values = np.array([one[layout]["chosen"] for one in cases[name]])
            cells = zip(values.mean(axis=0), values.std(axis=0), strict=True)
            wins = np.mean(values > [one["three modes"]["chosen"] for one in cases[name]], axis=0)
            print(f"{layout:28}" + "".join(f"{m:8.3f} ± {s:.3f}" for m, s in cells))
            if layout != "three modes":
                print(f"{'  three modes lose less in':28}" + "".join(f"{w:>16.0%}" for w in wins))
        for layout, result in cases[name][0].items():
            mode, transforms = result["settings"][1]
            print(f"  chosen for {layout}: orientation {mode}, {', '.join(transforms)}")
    amplitudes = AMPLITUDES[2:3] if options.fast else AMPLITUDES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = select(amplitudes, datasets)
    print(f"\nSTPCASelector: share of known channels found, mean and its error over {datasets};")
    print("below each flattening, by how much the better setting of three modes is ahead of it")
    print(f"{'layout':30}" + "".join(f"{f'strength {a:g}':>16}" for a in amplitudes))
    three = [shares for name, shares in found.items() if name.startswith("three modes")]
    leader = max(three, key=np.mean)
    for name, shares in found.items():
        print(f"{name:30}" + _cells(shares))
        if not name.startswith("three modes"):
            print(f"{'  ahead':30}" + _cells(leader - shares))
    save(draw(cases, found, amplitudes), options.output, "higher_order")
    return cases, found


if __name__ == "__main__":
    main()
