"""Draw the three small pictures of the README, on data made here: channels, bands and pixels.

``python -m docs.pages`` draws them into docs/images, and tests/test_pages.py draws them again.
"""

import numpy as np

from tensift import ColumnSubsetSelector, GeometrySelector, STPCASelector

ACCENT = "#d95f02"
SIZE = (4.2, 3.4)
PLACES = {
    "Fp1": (-0.31, 0.95), "Fp2": (0.31, 0.95), "F7": (-0.81, 0.59), "F3": (-0.42, 0.6),
    "Fz": (0, 0.55), "F4": (0.42, 0.6), "F8": (0.81, 0.59), "T7": (-1, 0), "C3": (-0.5, 0),
    "Cz": (0, 0), "C4": (0.5, 0), "T8": (1, 0), "P7": (-0.81, -0.59), "P3": (-0.42, -0.6),
    "Pz": (0, -0.55), "P4": (0.42, -0.6), "P8": (0.81, -0.59), "O1": (-0.31, -0.95),
    "O2": (0.31, -0.95),
}  # fmt: skip


def make_recordings(n=800, points=24, seed=0):
    """Recordings at 19 electrodes: six sources below the scalp spread to the electrodes."""
    rng = np.random.default_rng(seed)
    electrodes = np.array(list(PLACES.values()))
    sources = np.array([(-0.5, 0.6), (0.5, 0.6), (-0.7, -0.2), (0.7, -0.2), (0, -0.8), (0, 0.1)])
    squares = ((electrodes[:, None] - sources) ** 2).sum(axis=2)
    reach = np.exp(-squares / (2 * 0.45**2))
    waves = rng.normal(size=(n, len(sources), points)).cumsum(axis=2)
    waves -= waves.mean(axis=2, keepdims=True)
    waves /= waves.std()
    return np.einsum("cs,nst->nct", reach, waves) + 0.1 * rng.normal(size=(n, 19, points))


def draw_channels(figure):
    """Draw a head with the electrodes that are kept, and how well the others are predicted."""
    X = make_recordings()
    learn, new = X[:600], X[600:]
    selector = ColumnSubsetSelector(6, feature_mode=0).fit(learn)
    missed = new - selector.reconstruct(selector.transform(new))
    explained = 1 - (missed**2).sum(axis=(0, 2)) / ((new - new.mean(axis=0)) ** 2).sum(axis=(0, 2))
    kept = selector.get_support()
    ax = figure.subplots()
    ax.add_patch(_circle((0, 0), 1.14, fill=False, color="0.6", lw=1.5))
    ax.plot([-0.12, 0, 0.12], [1.13, 1.27, 1.13], color="0.6", lw=1.5)
    x, y = np.array(list(PLACES.values())).T
    points = ax.scatter(
        x[~kept], y[~kept], c=explained[~kept], s=210, cmap="Blues", vmin=0.5, vmax=1
    )
    ax.scatter(x[kept], y[kept], c=ACCENT, s=280)
    for name, place in PLACES.items():
        ax.text(*place, name, ha="center", va="center", fontsize=7, color="w")
    ax.set(aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.35))
    ax.set_axis_off()
    bar = figure.colorbar(points, shrink=0.7)
    bar.set_label("variance predicted", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    share = explained[~kept].mean()
    _title(ax, f"EEG: 6 of 19 channels predict {share:.0%} of the others")


def make_spectra(n=600, bands=120, seed=0):
    """Pixels of a scene: four materials under changing light, and two stretches of vapour."""
    rng = np.random.default_rng(seed)
    place = np.linspace(400, 2400, bands)

    def dip(at, width, depth):
        return 1 - depth * np.exp(-((place - at) ** 2) / (2 * width**2))

    slope = (place - 400) / 2000
    materials = np.array(
        [
            (0.15 + 0.5 / (1 + np.exp(-(place - 720) / 25))) * dip(1700, 160, 0.35),  # leaves
            (0.25 + 0.35 * slope) * dip(2200, 60, 0.35),  # clay
            (0.45 + 0.1 * slope) * dip(900, 120, 0.45),  # iron oxide
            0.55 - 0.15 * slope,  # concrete
        ]
    )
    kind = rng.integers(4, size=n)
    light = rng.uniform(0.8, 1.2, (n, 1))
    vapour = np.abs(place - 1400) < 60
    vapour |= np.abs(place - 1900) < 70
    spectra = light * materials[kind] + 0.01 * rng.normal(size=(n, bands))
    spectra[:, vapour] = 0.15 * rng.normal(size=(n, vapour.sum())) + 0.1
    return place, spectra, materials, vapour


def draw_bands(figure):
    """Draw mean spectra and the bands that are kept."""
    place, spectra, materials, vapour = make_spectra()
    kept = GeometrySelector(6).fit(spectra).get_support()
    ax = figure.subplots()
    shown = np.where(vapour, np.nan, materials)
    ax.plot(place, shown.T, lw=1.6, color="0.45")
    for edge in place[kept]:
        ax.axvline(edge, color=ACCENT, lw=2)
    ax.fill_between(place, 0, 0.8, where=vapour, color="0.88", lw=0)
    ax.text(1400, 0.76, "vapour", ha="center", fontsize=7, color="0.4")
    ax.text(1900, 0.76, "vapour", ha="center", fontsize=7, color="0.4")
    ax.set(ylim=(0, 0.8), xlim=(400, 2400))
    ax.set_xlabel("wavelength (nm)", fontsize=8)
    ax.set_ylabel("reflectance of four materials", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    _title(ax, "A cube: 6 of 120 bands tell materials apart")


def make_faces(n=500, side=32, seed=0):
    """Drawn faces: mouths smile or not, eyes are open or shut, light comes from either side."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    smile, light, *sides = rng.uniform(-1, 1, (6, n, 1, 1))
    smile, *sides = (np.sign(one) * np.abs(one) ** 0.3 for one in (smile, *sides))
    face = 0.75 / (1 + np.exp(25 * ((x / 0.75) ** 2 + (y / 0.95) ** 2 - 1)))
    pictures = face * (1 + 0.15 * light * x)
    mouth = 0.5 + smile * (0.12 - 0.9 * x**2) * 0.9
    pictures = pictures - 0.5 * np.exp(-((y - mouth) ** 2) / 0.004) * (np.abs(x) < 0.4)
    for centre, open_, brow in zip((-0.32, 0.32), sides[:2], sides[2:], strict=True):
        height = 0.025 + 0.055 * (open_ + 1)
        eye = np.exp(-(((x - centre) / 0.13) ** 2) - ((y + 0.2) / height) ** 2)
        pictures = pictures - 0.5 * eye
        line = -0.45 + 0.25 * brow * np.sign(centre) * (x - centre)
        above = np.exp(-((y - line) ** 2) / 0.002) * (np.abs(x - centre) < 0.2)
        pictures = pictures - 0.4 * above
    return pictures + 0.03 * face * rng.normal(size=pictures.shape)


def draw_pixels(figure):
    """Draw three faces with the pixels that are kept."""
    X = make_faces()
    kept = STPCASelector(10).fit(X).get_support().reshape(X.shape[1:])
    for ax, sample in zip(figure.subplots(2, 2).ravel(), (0, 3, 4, None), strict=True):
        shown = X.std(axis=0) if sample is None else X[sample]
        ax.imshow(shown, cmap="gray")
        rows, columns = np.nonzero(kept)
        ax.scatter(columns, rows, marker="s", s=13, color=ACCENT, lw=0)
        ax.set_axis_off()
        if sample is None:
            ax.set_title("what varies", fontsize=7, pad=2)
    figure.suptitle(f"Faces: {kept.sum()} of {kept.size} pixels", fontsize=9, fontweight="bold")


def _circle(*arguments, **options):
    from matplotlib.patches import Circle

    return Circle(*arguments, **options)


def _title(ax, text):
    ax.set_title(text, fontsize=9, fontweight="bold")


USE_CASES = {
    "docs/images/channels.png": draw_channels,
    "docs/images/bands.png": draw_bands,
    "docs/images/pixels.png": draw_pixels,
}


def draw(name, path):
    """Draw one picture into a file."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(matplotlib.rcParamsDefault | {"backend": "agg"}):
        figure = Figure(figsize=SIZE, dpi=150, layout="constrained")
        USE_CASES[name](figure)
        figure.savefig(path)
