"""The authors' algorithm written down plainly: all speed claims are relative to it.

It solves one slice at a time. Every step computes the Gram matrix, a dense inverse, a full
eigendecomposition, and the objective from the data. It shares no code with `tensift`, so the tests
use it as an independent truth as well.
"""

import numpy as np


def objective(A, slice_, lam, eta):
    return (
        np.linalg.norm(slice_ - A @ slice_) ** 2
        + lam * np.sqrt((np.abs(A) ** 2).sum(axis=0)).sum()
        + eta * np.trace(A).real
    )


def fit_transcription(X, lam, eta, *, orientation=0, M=None, max_iter=100, tol=1e-5):
    """Return the score map, and the steps and objective of every slice; `X` is (n, d1, d2)."""
    X = X / np.abs(X).max()
    n = len(X)
    data = np.moveaxis(X, [orientation + 1, 0], [0, 1])  # q x n x p, the paper's reoriented tensor
    q, _, p = data.shape
    M = np.eye(p) if M is None else M
    data = data @ M.T
    ridge = 1e-3 if q < n else 1e-2
    eye = np.eye(q)
    score, steps, objectives = np.zeros((q, p)), np.zeros(p, int), np.zeros(p)
    for i in range(p):
        slice_ = data[:, :, i] - data[:, :, i].mean(axis=1, keepdims=True)
        A = 0.5 * eye
        previous, step = np.inf, 0
        while step < max_iter:
            step += 1
            S = slice_ @ slice_.conj().T
            W = np.diag(1 / (2 * np.sqrt((np.abs(A) ** 2).sum(axis=0) + np.finfo(float).eps)))
            A = (S - eta / 2 * eye) @ np.linalg.inv(S + lam * W + ridge * eye)
            values, vectors = np.linalg.eigh((A + A.conj().T) / 2)
            A = vectors @ np.diag(np.maximum(values, 0)) @ vectors.conj().T
            # The conjugate is a slip of the program. It matters only for complex data.
            watched = objective(A.conj() if q < n else A, slice_, lam, eta)
            if abs(watched - previous) < tol:
                break
            previous = watched
        norms = (np.abs(A) ** 2).sum(axis=0)
        score += norms[:, None] * np.abs(M[i]) ** 2
        steps[i], objectives[i] = step, objective(A, slice_, lam, eta)
    score = np.sqrt(score)
    return (score if orientation == 0 else score.T), steps, objectives
