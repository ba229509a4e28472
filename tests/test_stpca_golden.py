"""Score maps of the authors' program, cell by cell of its parameter grid."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tensift import STPCASelector
from tensift.selection import rank_features

# What the files are called, and where their data are.
DATASETS = {
    "3D_orbits": "Orbit",
    "array_signal": "Array",
    "BreastMNIST": "BreastMNIST",
    "PIE": "PIE",
}
FILES = [
    "array_signal_dir1_I",
    "array_signal_dir2_I",
    "3D_orbits_dir1_I",
    "3D_orbits_dir2_I",
    "BreastMNIST_dir1_I",
    "BreastMNIST_dir1_fft",
    "BreastMNIST_dir2_EigT",
    pytest.param("PIE_dir1_I", marks=pytest.mark.slow),
]
MAP_TOLERANCE = 1e-6  # of the map's maximum
OBJECTIVE_TOLERANCE = 1e-8


def test_every_file_is_tested(golden_folder):
    tested = {getattr(file, "values", [file])[0] for file in FILES}
    assert {path.stem for path in golden_folder.glob("*.npz")} == tested


def top_features_differ_only_in_ties(ours, theirs, count, tolerance):
    """Features in one top list and not in the other must score as the last of the list does."""
    first, second = (rank_features(scores, order="F")[:count] for scores in (ours, theirs))
    swapped = np.setxor1d(first, second)
    last = theirs.ravel()[second[-1]]
    return bool(np.all(np.abs(theirs.ravel()[swapped] - last) <= 2 * tolerance)), len(swapped)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
def test_score_maps_are_those_of_the_authors_program(
    file, golden_folder, paper_dataset, brute_force, record_property
):
    name, orientation, transform = file.rsplit("_", 2)
    with np.load(golden_folder / f"{file}.npz") as stored:
        golden = {key: stored[key] for key in stored.files}
    assert golden["orientation"] == int(orientation[-1]) - 1
    assert len(golden["lams"]) == len(set(zip(golden["lams"], golden["etas"], strict=True))) == 25
    X = paper_dataset(DATASETS[name]).data
    spec = {"I": "identity", "fft": "dft", "EigT": golden.get("M")}[transform]
    # Frontal slices (p, q, n) of orientation 0 under the DFT.
    slices = np.fft.fft((X - X.mean(axis=0)) / np.abs(X).max(), axis=2).transpose(2, 1, 0)
    worst = {"map": 0.0, "objective": 0.0, "swapped": 0}
    for cell in range(25):
        lam, eta = golden["lams"][cell], golden["etas"][cell]
        selector = STPCASelector(
            10, orientation=int(golden["orientation"]), basis=spec, lam=lam, eta=eta, solver="paper"
        )
        if transform == "fft":
            with pytest.warns(UserWarning, match="same operator score"):
                selector.fit(X)
        else:
            selector.fit(X)
        where = f"{file}, lam={lam}, eta={eta}"
        theirs, ours = golden["scores"][cell], selector.scores_
        top = theirs.max()
        if top == 0:
            assert np.abs(ours).max() <= 1e-12, where
        else:
            deviation = np.abs(ours - theirs).max() / top
            worst["map"] = max(worst["map"], deviation)
            assert deviation <= MAP_TOLERANCE, where
            for count in (100, theirs.size // 4):
                same, swapped = top_features_differ_only_in_ties(
                    ours, theirs, count, MAP_TOLERANCE * top
                )
                worst["swapped"] = max(worst["swapped"], swapped)
                assert same, where
        assert_array_equal(selector.n_iter_, golden["n_iter"][cell], err_msg=where)
        objective = selector.objective_
        if transform == "fft":  # the program logs the objective of the conjugate operators
            objective = [
                brute_force.objective(block, operator.conj(), lam, eta)
                for block, operator in zip(slices, selector.operators_, strict=True)
            ]
        deviation = (np.abs(objective / golden["objective"][cell] - 1)).max()
        worst["objective"] = max(worst["objective"], deviation)
        assert deviation <= OBJECTIVE_TOLERANCE, where
    record_property("worst", json.dumps(worst))
    print(file, worst)  # shown with -rP
