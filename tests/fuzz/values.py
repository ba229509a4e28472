"""Random samples and random parameters, right and wrong."""

from numbers import Integral, Real

import numpy as np

from tensift import ExactSolver, PaperSolver
from tensift._utils.sklearn_compat import Interval, StrOptions

SCALES = (1e-300, 1e-160, 1e-30, 1e-8, 1e8, 1e30, 1e100, 1e160, 1e300)
WRONG = (-1, 0, 1.5, 10**9, np.nan, np.inf, -np.inf, 1e300, None, "", "magic", "auto", [], (0,),
         (2, -1), {}, True, object(), np.zeros(2), b"x", 1j)  # fmt: skip
DTYPES = ("float64", "float64", "float64", "float32", "float16", "longdouble", "int8", "uint8",
          "int64", "bool", "complex128", "complex64", "object", ">f8")  # fmt: skip


def pick(rng, options):
    """One of the options, as it is: `rng.choice` would make an array of them."""
    return options[int(rng.integers(len(options)))]


def random_shape(rng, most=6):
    return tuple(int(d) for d in rng.integers(1, most + 1, size=int(rng.integers(1, 4))))


def plain_samples(rng, shape=None, n=None):
    """Samples that nobody would call wrong: their features vary, at about the same scale."""
    shape = random_shape(rng) if shape is None else shape
    n = int(rng.integers(4, 40)) if n is None else n
    mixing = rng.normal(size=(3, *shape))
    X = np.tensordot(rng.normal(size=(n, 3)), mixing, axes=1) + rng.normal(size=(n, *shape))
    return X * rng.uniform(0.5, 2, size=shape)


def random_samples(rng):
    """Samples of any kind, most of them usable."""
    n = int(pick(rng, (1, 2, 3, 5, 12, 30)))
    X = plain_samples(rng, n=n)
    if rng.random() < 0.5:
        X = pick(rng, _SPOILERS)(rng, X)
    if rng.random() < 0.3:
        with np.errstate(all="ignore"):
            X = np.asarray(X).astype(pick(rng, DTYPES))
            if X.dtype.kind == "c":
                X = X + X.dtype.type(1j) * X[::-1]
    if rng.random() < 0.2:
        X = pick(rng, _WRAPPERS)(X)
    return X


def _at_random(rng, X, value):
    X = X.copy()
    X.flat[rng.integers(X.size)] = value
    return X


def _duplicated_features(rng, X):
    return np.concatenate([X, X], axis=int(rng.integers(1, X.ndim)))


def _constant_features(rng, X):
    return np.where(rng.random(X.shape[1:]) < 0.5, X, 3.0)


def _scaled(rng, X):
    return X * pick(rng, SCALES)


def _mixed_scales(rng, X):
    return X * 10.0 ** rng.integers(-12, 13, size=X.shape[1:])


_SPOILERS = (
    lambda rng, X: _at_random(rng, X, np.nan),
    lambda rng, X: _at_random(rng, X, np.inf),
    lambda rng, X: _at_random(rng, X, -np.inf),
    lambda rng, X: np.full_like(X, 0.1),
    lambda rng, X: np.zeros_like(X),
    lambda rng, X: np.repeat(X[:1], len(X), axis=0),
    lambda rng, X: X[rng.integers(len(X), size=2 * len(X))],
    lambda rng, X: X[:0],
    lambda rng, X: X[:, :0],
    lambda rng, X: X + 1e8,
    lambda rng, X: X.round(),
    lambda rng, X: np.where(rng.random(X.shape) < 0.9, 0.0, X),
    lambda rng, X: np.tensordot(X.reshape(len(X), -1)[:, 0], X[0], axes=0),
    lambda rng, X: X.reshape(len(X), -1),
    lambda rng, X: X.ravel(),
    _duplicated_features,
    _constant_features,
    _scaled,
    _scaled,
    _mixed_scales,
)
_WRAPPERS = (
    np.asfortranarray,
    lambda X: X[::-1],
    lambda X: X.tolist(),
    list,
    lambda X: X.astype(str),
    lambda X: np.ma.masked_invalid(X) if X.dtype.kind == "f" else X,
)


def right_value(rng, name, constraints, shape):
    """A value that the constraints of a parameter allow; small where size costs time."""
    own = _OWN_VALUES.get(name)
    if own is not None:
        return own(rng, shape)
    constraint = pick(rng, constraints)
    if isinstance(constraint, StrOptions):
        return pick(rng, sorted(constraint.options))
    if isinstance(constraint, Interval):
        return _within(rng, constraint)
    if constraint == "boolean" or constraint is bool:
        return bool(rng.integers(2))
    return None if constraint is None else _OTHERWISE


_OTHERWISE = object()  # of this kind no value is drawn: keep the default


def _within(rng, interval):
    if interval.type is Integral:
        return int(rng.integers(1, 6)) if interval.left is not None else -1
    low = 0.0 if interval.left is None else float(interval.left)
    if interval.right is not None:
        return float(rng.uniform(max(low, 0.01), float(interval.right)))
    if interval.closed == "left" and rng.random() < 0.1:
        return low
    return float(10.0 ** rng.uniform(-4, 4)) if interval.type is Real else 1.0


def _count(rng, shape):
    total = int(np.prod(shape)) if shape else 1
    return pick(rng, (1, max(1, total // 2), max(1, total), total + 3, 0.3, 0.999, "auto"))


def _shape_of_rows(rng, shape):
    return tuple(shape) if rng.random() < 0.8 else tuple(reversed(shape))


def _basis(rng, shape):
    names = ("identity", "dft", "dct", "haar", "eigen", "random", "auto")
    if rng.random() < 0.8 or len(shape) < 2:
        return pick(rng, names)
    return [pick(rng, names[:-1]) for _ in shape[1:]]


def _solver(rng, shape):
    if rng.random() < 0.5:
        return pick(rng, ("exact", "paper"))
    tol, steps = float(10.0 ** rng.uniform(-8, -2)), int(rng.integers(1, 200))
    if rng.random() < 0.5:
        return ExactSolver(tol=tol, max_iter=steps)
    conventions, stopping = ("program", "paper"), ("absolute", "relative")
    return PaperSolver(
        tol=tol, max_iter=steps, convention=pick(rng, conventions), stopping=pick(rng, stopping)
    )


def _mode(rng, shape):
    return pick(rng, (None, 0, -1, max(len(shape) - 1, 0)))


_OWN_VALUES = {
    "n_features_to_select": _count,
    "feature_shape": _shape_of_rows,
    "feature_mode": _mode,
    "orientation": lambda rng, shape: pick(rng, (0, -1, max(len(shape) - 1, 0), "auto")),
    "basis": _basis,
    "random_state": lambda rng, shape: int(rng.integers(100)),
    "n_jobs": lambda rng, shape: pick(rng, (None, 1, 2, -1)),
    "verbose": lambda rng, shape: False,
    "max_iter": lambda rng, shape: int(rng.integers(1, 60)),
    "tol": lambda rng, shape: float(10.0 ** rng.uniform(-8, -1)),
    "n_init": lambda rng, shape: int(rng.integers(1, 4)),
}


def random_parameters(rng, estimator_class, shape, wrong=0.25):
    """Some parameters of an estimator; one of them may be wrong."""
    names = estimator_class._get_param_names()
    constraints = estimator_class._parameter_constraints
    parameters = {}
    for name in names:
        if rng.random() < 0.35 or name in ("n_features_to_select", "random_state"):
            given = list(constraints.get(name, [None]))
            if estimator_class.__name__ != "STPCASelector" and name == "solver":
                value = pick(rng, sorted(given[0].options))
            elif name == "solver":
                value = _solver(rng, shape)
            else:
                value = right_value(rng, name, given, shape)
            if value is not _OTHERWISE:
                parameters[name] = value
    if rng.random() < wrong:
        name = pick(rng, names)
        if name != "verbose":
            parameters[name] = pick(rng, WRONG)
    return parameters
