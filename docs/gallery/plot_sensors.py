"""
A sea surface: ten buoys and a budget
=====================================

Weekly temperatures of a sea, on a map of 24 x 48 places, of which three tenths are land. Where
should ten buoys go, so that the whole surface can be estimated from them? Buoys cannot stand on
land or on a shipping route, they cost more the farther they are from the western coast, two of them
should not be neighbours, and one is there already. There are eighteen years of weeks to learn from;
two more years are held out and judge.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from pysensors import SSPOR
from pysensors.basis import SVD
from pysensors.optimizers import CCQR, QR

from tensift import ColumnSubsetSelector, Constraints
from tensift.datasets import make_sea_surface

sea = make_sea_surface(20 * 52, random_state=0)
rows, columns = sea.feature_shape
known, new = sea.data[: 18 * 52], sea.data[18 * 52 :]
row, column = np.indices(sea.feature_shape)

at_sea = np.zeros(rows * columns, dtype=bool)
at_sea[sea.informative] = True
route = np.abs(row - column / 2) <= 1  # ships cross the map from corner to corner
forbidden = ~at_sea | route.ravel()
costs = 1 + 3 * column / columns
first = int(sea.informative[np.flatnonzero(~forbidden[sea.informative])[40]])
known.shape, new.shape, int(forbidden.sum())

# %%
# One object says all of it. Features may be indices, coordinates, names, or a mask. The selector
# is column subset selection: the places from which all places are predicted best. With a budget,
# ten is the largest number, and fewer may be better.

constraints = Constraints(
    include=[first], exclude=forbidden, costs=costs, budget=20, min_distance=4
)
selector = ColumnSubsetSelector(10, constraints=constraints).fit(known)
buoys = selector.get_support(indices=True)
print(f"{len(buoys)} buoys cost {costs.ravel()[buoys].sum():.1f} of 20")
print("on land or on the route:", int(forbidden[buoys].sum()))
free = ColumnSubsetSelector(10).fit(known)
free_buoys = free.get_support(indices=True)
print(f"without constraints they cost {costs.ravel()[free_buoys].sum():.1f}")

# %%
# ``reconstruct`` gives the whole surface from the buoys, with a standard deviation for every
# place. How far off is it, in weeks that it has not seen?

estimate, deviation = selector.reconstruct(selector.transform(new), return_std=True)


def error(estimate):
    """The share of the variation at sea that is missed, as a root."""
    missed = (estimate - new).reshape(len(new), -1)[:, at_sea]
    around = (new - known.mean(axis=0)).reshape(len(new), -1)[:, at_sea]
    return np.linalg.norm(missed) / np.linalg.norm(around)


print(f"{len(buoys)} buoys under constraints:  {error(estimate):.3f}")
print(f"ten buoys anywhere:          {error(free.reconstruct(free.transform(new))):.3f}")
rng = np.random.default_rng(0)
drawn = []
for _ in range(20):
    there = Constraints(include=rng.choice(np.flatnonzero(~forbidden), 10, replace=False))
    random = ColumnSubsetSelector(10, constraints=there).fit(known)
    drawn.append(error(random.reconstruct(random.transform(new))))
print(f"ten random allowed places:   {np.mean(drawn):.3f} ({min(drawn):.3f} to {max(drawn):.3f})")
inside = np.abs(estimate - new) <= 1.645 * deviation
others = at_sea & ~np.isin(np.arange(len(at_sea)), buoys)
print(f"90 % intervals cover:        {inside.reshape(len(new), -1)[:, others].mean():.2f}")

# %%
# Nine buoys that obey all constraints miss little more than ten buoys anywhere, and less than any
# of twenty random draws of ten allowed places. The intervals cover a little less than they say:
# weeks that follow each other are alike, so there are fewer independent samples than weeks.
#
# PySensors on the same data. ``SSPOR`` places sensors by pivoted QR of the leading modes, ``CCQR``
# with costs, ``GQR`` with a least distance. Each takes one kind of constraint, so the others are
# left out, and there is no budget: of CCQR's order we take what fits. Its samples are centred by
# hand; land is taken away before.

mean = known.reshape(len(known), -1)[:, at_sea].mean(axis=0)
centred = known.reshape(len(known), -1)[:, at_sea] - mean
later = new.reshape(len(new), -1)[:, at_sea] - mean
cost_at_sea = costs.ravel()[at_sea]
warnings.simplefilter("ignore")


def pysensors(optimizer, budget=np.inf):
    """The missed share, and the cost of the sensors, of the best of two reconstructions."""
    model = SSPOR(basis=SVD(n_basis_modes=10, random_state=0), optimizer=optimizer, n_sensors=10)
    order = model.fit(centred, quiet=True, seed=0).get_all_sensors()
    kept = []
    for place in order:
        if len(kept) < 10 and cost_at_sea[[*kept, place]].sum() <= budget:
            kept.append(place)
    model.ranked_sensors_[: len(kept)], model.n_sensors = kept, len(kept)
    found = [model.predict(later[:, kept], method="unregularized"),
             model.predict(later[:, kept], noise=1e-1)]  # fmt: skip
    errors = [np.linalg.norm(one - later) / np.linalg.norm(later) for one in found]
    return min(errors), cost_at_sea[kept].sum(), len(kept)


for name, found in {
    "SSPOR, anywhere at sea": pysensors(QR()),
    "CCQR, under the budget": pysensors(CCQR(sensor_costs=0.02 * cost_at_sea), 20),
}.items():
    print(f"{name:<24} {found[0]:.3f} with {found[2]} sensors, cost {found[1]:.1f}")

# %%
# Where is the estimate wrong, and how much does it say so itself? Stars are buoys, the white
# diagonal is the shipping route, grey is land.

maps = {
    "one week, measured": new[52],
    f"from {len(buoys)} buoys": estimate[52],
    "error (rms of two years)": np.sqrt(np.mean((estimate - new) ** 2, axis=0)),
    "stated deviation": np.sqrt(np.mean(deviation**2, axis=0)),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 5.6), layout="constrained")
limits = {0: np.abs(new[52]).max(), 1: maps["error (rms of two years)"].max()}
for number, (axis, (title, values)) in enumerate(zip(axes.flat, maps.items(), strict=True)):
    shown = np.where(at_sea.reshape(rows, columns), values, np.nan)
    top = limits[number // 2]
    style = ("RdBu_r", -top, top) if number < 2 else ("magma_r", 0, top)
    image = axis.imshow(
        shown, origin="lower", cmap=style[0], vmin=style[1], vmax=style[2],
        extent=(-0.5, columns - 0.5, -0.5, rows - 0.5),
    )  # fmt: skip
    axis.set_facecolor("0.75")
    axis.contour(route, levels=[0.5], colors="white", linewidths=0.8)
    axis.plot(buoys % columns, buoys // columns, "k*", markersize=8, markeredgecolor="white")
    axis.set(title=title, xlabel="column (west to east)", ylabel="row (south to north)")
    figure.colorbar(image, ax=axis, label="degrees", shrink=0.8)

# %%
# And if a buoy fails? ``replacements`` says for each how much is lost, and which place would make
# up for most of it. A few per cent are lost, and a neighbour makes up for nearly all. ``extend``
# says where the next ones should go.

worst = sorted(selector.replacements(), key=lambda one: -one.lost)[:3]
for one in worst:
    print(
        f"without buoy {one.feature} we explain {100 * one.lost:.1f} % less; with another one at "
        f"{one.substitute} instead, {100 * one.lost_with_substitute:.1f} % less"
    )
print("next places without a budget:", free.extend(2))
