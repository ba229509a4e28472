"""SPCAFS and SOGFS written down plainly, as published: a baseline for speed, a truth for tests.

They have dense `d x d` matrices, a full eigendecomposition in every step, and loops over samples.
Nothing here comes from `tensift`. Samples are rows, `(n, d)`.
"""

import numpy as np

EPS = np.finfo(float).eps


def spcafs(X, gamma, m, p=1.0, max_iter=50, tol=1e-6):
    """Return scores, objectives of all steps and W of sparse PCA with an l_{2,p} norm, 2023."""
    n, d = X.shape
    H = np.eye(n) - np.ones((n, n)) / n
    S = X.T @ H @ X
    S = (S + S.T) / 2
    q = np.ones(d)
    objectives = []
    for _ in range(max_iter):
        _, vectors = np.linalg.eigh(gamma * np.diag(q) - S)
        W = vectors[:, :m]
        squares = (W**2).sum(axis=1)
        q = p / 2 * (squares + EPS) ** ((p - 2) / 2)
        objectives.append(-np.trace(W.T @ S @ W) + gamma * (squares ** (p / 2)).sum())
        if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) < tol:
            break
    return squares, objectives, W


def sogfs(X, gamma, m, c, k, max_iter=50, tol=1e-6, inner=100):
    """Return scores, steps, lambdas and W of structured graph optimisation, 2016."""
    n = len(X)
    X = X - X.mean(axis=0)
    X = X / np.sqrt((X**2).sum(axis=0) + EPS)
    distances = _squared_distances(X)
    nearest = _nearest(distances)
    graph, r = np.zeros((n, n)), 0.0
    for i in range(n):
        e = distances[i, nearest[i, : k + 1]]
        graph[i, nearest[i, :k]] = (e[k] - e[:k]) / (k * e[k] - e[:k].sum() + EPS)
        r += (k * e[k] - e[:k].sum()) / 2 / n
    lam, lambdas = r, []
    L, values, F = _laplacian(graph, c)
    W = _projection(X, L, gamma, m, tol, inner)
    for iteration in range(1, max_iter + 1):
        dx, df = _squared_distances(X @ W), _squared_distances(F)
        lambdas.append(lam)
        if iteration > 5:
            nearest = _nearest(dx)
        graph = np.zeros((n, n))
        for i in range(n):
            candidates = nearest[i, :k]
            cost = dx[i, candidates] + lam * df[i, candidates]
            graph[i, candidates] = _onto_simplex(-cost / (2 * r))
        L, values, new_F = _laplacian(graph, c)
        W = _projection(X, L, gamma, m, tol, inner)
        if values[:c].sum() > 1e-9:
            lam, F = 2 * lam, new_F
        elif values[: c + 1].sum() < 1e-11:
            lam = lam / 2
        else:
            F = new_F
            if iteration > 1:
                break
    return (W**2).sum(axis=1), iteration, lambdas, W


def _projection(X, L, gamma, m, tol, inner):
    M = X.T @ L @ X
    M = (M + M.T) / 2
    q, previous = np.ones(len(M)), np.inf
    for _ in range(inner):
        _, vectors = np.linalg.eigh(M + gamma * np.diag(q))
        W = vectors[:, :m]
        norms = np.sqrt((W**2).sum(axis=1))
        q = 1 / (2 * np.sqrt(norms**2 + EPS))
        objective = np.trace(W.T @ M @ W) + gamma * norms.sum()
        if abs(objective - previous) < tol:
            break
        previous = objective
    return W


def _laplacian(graph, c):
    A = (graph + graph.T) / 2
    L = np.diag(A.sum(axis=1)) - A
    values, vectors = np.linalg.eigh(L)
    return L, values, vectors[:, :c]


def _squared_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def _nearest(distances):
    distances = distances.copy()
    np.fill_diagonal(distances, -1)
    return np.argsort(distances, axis=1, kind="stable")[:, 1:]


def _onto_simplex(v):
    u = np.sort(v)[::-1]
    thresholds = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    rho = np.flatnonzero(u - thresholds > 0)[-1]
    return np.maximum(v - thresholds[rho], 0)
