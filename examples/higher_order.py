"""Is the third mode of a sample worth keeping, or can it be flattened into another mode?

TensorPCA: the energy lost on held-out samples, at equal numbers kept (mean, components, transforms
learned from the data, coordinates of the fitted samples) and at equal coordinates per sample. Every
basis of every mode is tried at every orientation. The setting for each layout is chosen on a part
of the fitted samples.

STPCASelector with the paper's penalties and solver: the share of the known channels among the first
ones, in generated recordings of several subjects.

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
BASES = ("identity", "dct", "eigen")
AMPLITUDES = (0.3, 0.4, 0.5, 0.7)


def make_clips(n, rng, shape=(12, 12, 8), noise=0.1):
    """Make films `(n, height, width, time)` of one moving bright blob with white noise."""
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
    """Make recordings `(n, channel, time, subject)`: responses in a few channels, noise in all.

    The known channels have less noise than the others, so variance does not find them. Each of the
    two responses has a time course, a weight for each known channel, and a gain of either sign for
    each subject. Samples differ only in the strength of the responses.
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
    """Return the samples with three modes, with two modes merged, and with one mode."""
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
    """Yield orientations and bases; a mode of length one needs no basis."""
    for mode in range(len(shape)):
        others = shape[:mode] + shape[mode + 1 :]
        if shape[mode] > 1:
            choices = [BASES if size > 1 else ("identity",) for size in others]
            yield from ((mode, bases) for bases in product(*choices))


def losses(train, test, mode, bases):
    """Return the energy of `test` lost at each share of the numbers, then at each count."""
    n, d, q = len(train), train[0].size, train.shape[mode + 1]
    others = train.shape[1 : mode + 1] + train.shape[mode + 2 :]
    learned = sum(s * s for s, name in zip(others, bases, strict=True) if name == "eigen")
    model = TensorPCA(truncation="global", orientation=mode, basis=list(bases)).fit(train)
    explained = np.cumsum(np.sum(model.transform(test) ** 2, axis=0))
    lost = 1 - explained / np.sum((test - model.mean_) ** 2)
    counts = [int((share * train.size - d - learned) // (n + q + 1)) for share in SHARES]
    return np.array(
        [lost[min(k, len(lost)) - 1] if k > 0 else np.nan for k in (*counts, *COORDINATES)]
    )


def compare(train, test, names):
    """Return, per layout, the losses of all settings and of those chosen without test samples."""
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
    """Yield each case: its name, the names of its modes, and two sample sets per seed."""
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
    """Return UCIDSA as `(152, 5 body units, 9 sensors, 125 times)`, or None without the file."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not os.environ.get("TENSIFT_DATA") and beside.is_dir():
        os.environ["TENSIFT_DATA"] = str(beside)
    try:
        data = fetch_paper("UCIDSA").data
    except FileNotFoundError:
        print("UCIDSA is skipped: set TENSIFT_DATA to a folder that contains it")
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


def channels_found(data, known, bases, merged):
    """Return the share of known channels among the first ones."""
    n, channels, times, subjects = data.shape
    if merged == "time × subject":
        data = data.reshape(n, channels, times * subjects)
    elif merged == "subject × time":
        data = data.swapaxes(2, 3).reshape(n, channels, times * subjects)
    elif merged == "channel × subject":
        data = data.swapaxes(2, 3).reshape(n, channels * subjects, times)
    basis = list(bases) if isinstance(bases, tuple) else bases
    paper = {"lam": 10, "eta": 10, "solver": "paper"}
    scores = STPCASelector(1, feature_mode=0, basis=basis, **paper).fit(data).scores_
    scores = scores.reshape(channels, -1).sum(axis=1)
    return float(np.isin(np.argsort(-scores, kind="stable")[: len(known)], known).mean())


def select(amplitudes, seeds):
    """Return the shares found, per layout `(amplitude, seed)`, and those of plain variance."""
    found = {name: np.zeros((len(amplitudes), seeds)) for name in [*SELECTOR_LAYOUTS, "variance"]}
    for (place, amplitude), seed in product(enumerate(amplitudes), range(seeds)):
        data, known = make_recordings(amplitude, np.random.default_rng(seed))
        for name, layout in SELECTOR_LAYOUTS.items():
            found[name][place, seed] = channels_found(data, known, *layout)
        variance = data.var(axis=0).sum(axis=(1, 2))
        found["variance"][place, seed] = np.isin(np.argsort(-variance)[: len(known)], known).mean()
    return found


def draw(cases, found, amplitudes):
    """Draw one panel per case and measure, and one for the selector."""
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
        axis.set_ylabel("energy lost on held-out samples", fontsize=8)
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
    parser.add_argument("--output", default=".", metavar="FOLDER", help="folder for the picture")
    parser.add_argument("--fast", action="store_true", help="use less data and fewer settings")
    parser.add_argument("--seeds", type=int, default=3, help="number of rounds of TensorPCA (3)")
    parser.add_argument(
        "--datasets", type=int, default=6, help="number of recordings for the selector (6)"
    )
    options = parser.parse_args(argv)
    seeds, datasets = (1, 2) if options.fast else (options.seeds, options.datasets)
    cases = {}
    titles = [f"{s:.0%} numbers" for s in SHARES] + [f"{c} coord." for c in COORDINATES]
    for name, modes, pairs in pca_cases(options.fast, seeds):
        cases[name] = [compare(*pair, modes) for pair in pairs]
        print(f"\nTensorPCA, {name}: energy lost on held-out samples (mean and spread of {seeds})")
        print(f"{'layout':28}" + "".join(f"{title:>16}" for title in titles))
        for layout in cases[name][0]:
            values = np.array([one[layout]["chosen"] for one in cases[name]])
            cells = zip(values.mean(axis=0), values.std(axis=0), strict=True)
            wins = np.mean(values > [one["three modes"]["chosen"] for one in cases[name]], axis=0)
            print(f"{layout:28}" + "".join(f"{m:8.3f} ± {s:.3f}" for m, s in cells))
            if layout != "three modes":
                print(f"{'  three modes lose less in':28}" + "".join(f"{w:>16.0%}" for w in wins))
        for layout, result in cases[name][0].items():
            mode, bases = result["settings"][1]
            print(f"  chosen for {layout}: orientation {mode}, {', '.join(bases)}")
    amplitudes = AMPLITUDES[2:3] if options.fast else AMPLITUDES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = select(amplitudes, datasets)
    print(
        f"\nSTPCASelector: share of known channels found, mean and standard error over {datasets}."
    )
    print("Below each flattening: the lead of the better setting with three modes")
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
