import numpy as np

from tensift import GeometrySelector
from tensift.datasets import TensorDataset
from tensift.stability import select_by_group

rng = np.random.default_rng(0)
names = "Fp1 Fp2 F3 F4 C3 C4 P3 P4 O1 O2 T7 T8 P7 P8 Fz Cz".split()  # noqa: SIM905
subjects = np.repeat([f"subject {k}" for k in range(1, 7)], [80, 60, 60, 50, 40, 30])
X = rng.normal(size=(len(subjects), len(names), 20))
shared = rng.normal(size=(len(subjects), 2, 20))
X[:, :6] += 2 * np.einsum("nst,cs->nct", shared, rng.normal(size=(6, 2)))
for number, subject in enumerate(np.unique(subjects)):  # two channels of each subject's own
    own = subjects == subject
    X[own, 6 + number : 8 + number] += 2 * shared[own][:, :1]
recordings = TensorDataset(X, dims=("channel", "time"), coords={"channel": names})
select_by_group(GeometrySelector(6, feature_mode="channel"), recordings, subjects).plot()
