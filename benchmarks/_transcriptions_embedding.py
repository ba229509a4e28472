"""RNE and NLGMS written down plainly: dense matrices, every product as published, no short cuts.

They share no code with `tensift`, so the tests use them as an independent truth, and the benchmarks
compare speed with them. Both take their start as an argument, because results depend on it.
"""

from types import SimpleNamespace

import numpy as np

EPS = np.finfo(float).eps


# RNE: X is (n, d)


def local_weights(X, n_neighbors):
    """Return, in row i, weights that sum to 1 and reconstruct sample i from its neighbours."""
    n, d = X.shape
    W = np.zeros((n, n))
    for i in range(n):
        distances = ((X - X[i]) ** 2).sum(axis=1)
        distances[i] = -1
        nearest = np.argsort(distances, kind="stable")[1 : n_neighbors + 1]
        Z = X[nearest] - X[i]
        C = Z @ Z.T
        if n_neighbors > d:
            C = C + 1e-3 * np.trace(C) * np.eye(n_neighbors)
        w = np.linalg.solve(C, np.ones(n_neighbors))
        W[i, nearest] = w / w.sum()
    return W


def fit_rne(X, H, *, n_neighbors=5, alpha=1e3, transposed=False, max_iter=50, sweeps=30, g=10.0):
    """Return H, scores and the objective after every outer iteration, from a start H (d, m)."""
    W = local_weights(X, n_neighbors)
    A = X - (W.T if transposed else W) @ X
    G = A.T @ A
    G_plus, G_minus = (np.abs(G) + G) / 2, (np.abs(G) - G) / 2
    M, Y = A @ H, np.zeros((len(A), H.shape[1]))
    path = []
    for _ in range(max_iter):
        AM, AY = A.T @ M, A.T @ Y
        for _ in range(sweeps):
            H = H / np.sqrt((H**2).sum(axis=0) + EPS)
            top = alpha * H + g * (np.abs(AM) + AM) / 2 + g * G_minus @ H + (np.abs(AY) + AY) / 2
            bottom = alpha * H @ (H.T @ H) + g * (np.abs(AM) - AM) / 2 + g * G_plus @ H
            bottom = bottom + (np.abs(AY) - AY) / 2 + EPS
            H = H * np.sqrt(top / bottom)
        V = A @ H - Y / g
        M = np.sign(V) * np.maximum(np.abs(V) - 1 / g, 0)
        Y = Y + g * (M - A @ H)
        g = min(1.1 * g, 1e10)
        path.append(rne_objective(A, H, alpha))
    return SimpleNamespace(
        H=H, scores=(H**2).sum(axis=1), objective_path=np.array(path), weights=W, residual=A
    )


def rne_objective(A, H, alpha):
    gram = H.T @ H
    return np.abs(A @ H).sum() + alpha / 4 * np.linalg.norm(gram - np.eye(len(gram))) ** 2


# NLGMS: X is (d, n)


def adaptive_graph(D, k):
    """Return S (n, n) and the weight r of its norm, from squared distances."""
    n = len(D)
    S, r = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        distances = np.maximum(D[i], 0)
        distances[i] = -1
        order = np.argsort(distances, kind="stable")[1 : k + 2]
        e = distances[order]
        S[i, order[:k]] = (e[k] - e[:k]) / (k * e[k] - e[:k].sum() + EPS)
        r[i] = (k * e[k] - e[:k].sum()) / 2
    return S, r.mean()


def pairwise(Y):
    """Return squared distances between the columns of Y, one column at a time."""
    return np.array([((Y - Y[:, [i]]) ** 2).sum(axis=0) for i in range(Y.shape[1])])


def laplacian_of(S):
    A = (S + S.T) / 2
    return np.diag(A.sum(axis=1)) - A


def update_w(A, W, k, max_iter=10, tol=1e-3):
    """Let a surrogate of A pick the k nonzero rows of W; A[I, I] gives their values."""
    for _ in range(max_iter):
        P = A @ W @ np.linalg.pinv(W.T @ A @ W) @ W.T @ A
        diagonal = np.diag(P)
        rows = np.argsort(-diagonal, kind="stable")[:k]
        vectors = np.linalg.eigh((A[np.ix_(rows, rows)] + A[np.ix_(rows, rows)].T) / 2)[1]
        vectors = vectors[:, ::-1][:, : W.shape[1]]
        # Signs are arbitrary. Fix them, because the stopping rule compares two W.
        peaks = np.argmax(np.abs(vectors), axis=0)
        new = np.zeros_like(W)
        new[rows] = vectors * np.sign(vectors[peaks, np.arange(len(peaks))])
        change = np.linalg.norm(new - W) ** 2
        W = new
        if change < tol:
            break
    return W, rows, diagonal


def fit_nlgms(
    X,
    W,
    k,
    *,
    lambda1=1.0,
    lambda2=1.0,
    n_neighbors=5,
    released=False,
    max_iter=30,
    tol=1e-3,
    mu=1e-6,
):
    """Return all variables and the objective of every iteration, from a start W (d, m)."""
    d, n = X.shape
    Z, E, Y1, Y2 = np.zeros((n, n)), np.zeros((d, n)), np.zeros((d, n)), np.zeros((n, n))
    D = pairwise(X)
    S, r = adaptive_graph(D, n_neighbors)
    inverse = np.linalg.inv(np.eye(n) + X.T @ X)
    path = []
    for _ in range(max_iter):
        U, s, Vt = np.linalg.svd(Z + Y2 / mu)
        J = U @ np.diag(np.maximum(s - lambda1 / mu, 0)) @ Vt
        Z = inverse @ (X.T @ X - X.T @ E + J + (X.T @ Y1 - Y2) / mu)
        L = laplacian_of(S)
        subtracted = (X - E) @ L @ (X - E).T
        bound = np.linalg.eigvalsh(X @ L @ X.T if released else subtracted)[-1]
        W, rows, diagonal = update_w(bound * np.eye(d) - subtracted, W, k)
        target = mu * (X - X @ Z) + Y1
        E = W @ (W.T @ (4 * X @ L + target))
        E = E @ np.linalg.inv(4 * L + (2 * lambda2 + mu) * np.eye(n))
        if not released:
            E = E + (target - W @ (W.T @ target)) / (2 * lambda2 + mu)
        S, r = adaptive_graph(D if released else pairwise(W.T @ (X - E)), n_neighbors)
        Y1 = Y1 + mu * (X - X @ Z - E)
        Y2 = Y2 + mu * (Z - J)
        mu = min(1.1 * mu, 1e10)
        path.append(nlgms_objective(X, W, S, r, Z, E, lambda1, lambda2))
        if len(path) > 1 and abs(path[-1] - path[-2]) < tol:
            break
    return SimpleNamespace(
        W=W, S=S, Z=Z, J=J, E=E, rows=rows, scores=diagonal, objective_path=np.array(path)
    )


def nlgms_objective(X, W, S, r, Z, E, lambda1, lambda2):
    projected = W.T @ (X - E)
    return (
        2 * np.trace(projected @ laplacian_of(S) @ projected.T)
        + r * np.linalg.norm(S) ** 2
        + lambda1 * np.linalg.norm(Z, "nuc")
        + lambda2 * np.linalg.norm(E) ** 2
    )
