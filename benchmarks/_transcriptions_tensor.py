"""The published updates of CPUFS, CPUFSnn and MSPCA for matrix samples, written down plainly.

As in the publications, tensors are ``d1 x d2 x n`` with one sample per frontal slice. There is one
einsum per formula, matrices are dense, and contractions are not shared. Nothing here comes from
`tensift`, so the tests use it as an independent truth.
"""

import numpy as np

XI = 2.0**-52


def heat_kernel_laplacian(X, k=5):
    """Return the normalised Laplacian of the k nearest samples, heat kernel of width 1."""
    rows = X.reshape(-1, X.shape[2]).T
    n = len(rows)
    squared = np.array([[np.sum((one - other) ** 2) for other in rows] for one in rows])
    G = np.zeros((n, n))
    for i in range(n):
        others = [j for j in np.argsort(squared[i], kind="stable") if j != i]
        for j in others[:k]:
            G[i, j] = np.exp(-squared[i, j] / 2)
    G = np.maximum(G, G.T)
    root = np.diag(1 / np.sqrt(1e-9 + G.sum(axis=1)))
    return np.eye(n) - root @ G @ root


def classifier_outputs(X, U, V):
    """Return ``H[k, r] = u_r X_k v_r^T``."""
    return np.einsum("ri,ijk,rj->kr", U, X, V)


def group_norms(U, V):
    """Return ``sqrt(sum_r U_ri^2 V_rj^2)``, a ``d1 x d2`` matrix."""
    return np.sqrt(np.einsum("ri,rj->ij", U**2, V**2))


def cpufs_objective(X, L, A, B, C, F, U, V, mu, alpha, beta, eta):
    return (
        np.sum((X - np.einsum("ir,jr,kr->ijk", A, B, C)) ** 2)
        + mu * np.trace(C.T @ L @ F)
        + alpha * np.sum((classifier_outputs(X, U, V) - F) ** 2)
        + beta * group_norms(U, V).sum()
        + eta * np.sum((C - F) ** 2)
    )


def classifier_step(X, F, U, V, alpha, beta, theta, nonnegative=False):
    """Take one gradient step on U, then one on V."""

    def project(Z):
        return np.maximum(Z, 0) if nonnegative else Z

    E, N = classifier_outputs(X, U, V) - F, 1 / (group_norms(U, V) + XI)
    gradient = 2 * alpha * np.einsum("kr,rj,ijk->ri", E, V, X)
    gradient += beta * U * np.einsum("rj,ij->ri", V**2, N)
    U = project(U - theta * gradient)
    E, N = classifier_outputs(X, U, V) - F, 1 / (group_norms(U, V) + XI)
    gradient = 2 * alpha * np.einsum("kr,ri,ijk->rj", E, U, X)
    gradient += beta * V * np.einsum("ri,ij->rj", U**2, N)
    return U, project(V - theta * gradient)


def cpufs(X, A, B, C, U, V, *, mu, alpha, beta, theta, iterations, eta=1e5, k=5, nonnegative=False):
    """Return all factors and the objective after every iteration; X is ``d1 x d2 x n``."""
    L = heat_kernel_laplacian(X, k)
    F = np.maximum(C, 0)
    path = []
    for _ in range(iterations):
        A = A * np.einsum("ijk,jr,kr->ir", X, B, C) / (A @ ((C.T @ C) * (B.T @ B)) + XI)
        B = B * np.einsum("ijk,ir,kr->jr", X, A, C) / (B @ ((C.T @ C) * (A.T @ A)) + XI)
        Q = 2 * np.einsum("ijk,ir,jr->kr", X, A, B) - mu * L @ F + 2 * eta * F
        P, _, Rt = np.linalg.svd(Q, full_matrices=False)
        C = P @ Rt
        H = classifier_outputs(X, U, V)
        F = (alpha * H + eta * C - mu / 2 * L.T @ C) / (alpha + eta)
        F = np.maximum(F, XI if nonnegative else 0)
        for _ in range(3):
            U, V = classifier_step(X, F, U, V, alpha, beta, theta, nonnegative)
        path.append(cpufs_objective(X, L, A, B, C, F, U, V, mu, alpha, beta, eta))
    return {"A": A, "B": B, "C": C, "F": F, "U": U, "V": V, "path": path}


def cpufs_scores(U, V):
    return (U**2).T @ V**2


def soft(value, by):
    return np.sign(value) * max(abs(value) - by, 0)


def elastic_net(S, b, u, alpha, beta, sweeps=20_000, tol=1e-14):
    """Minimise ``u^T (S + alpha I) u - 2 b^T S u + beta |u|_1`` one coordinate at a time."""
    u = u.copy()
    for _ in range(sweeps):
        before = u.copy()
        for i in range(len(u)):
            z = S[i] @ b - S[i] @ u + S[i, i] * u[i]
            u[i] = soft(z, beta / 2) / (S[i, i] + alpha)
        if np.abs(u - before).max() < tol:
            break
    return u


def sparse_pca_objective(S, B, U, alpha, beta):
    return (
        np.trace(S)
        - 2 * np.trace(B.T @ S @ U)
        + np.trace(U.T @ (S + alpha * np.eye(len(S))) @ U)
        + beta * np.abs(U).sum()
    )


def sparse_pca(S, B, U, alpha, beta, tol=1e-6, turns=200):
    """Alternate elastic nets and orthogonal Procrustes problems, from ``B`` and ``U``."""
    path = []
    for _ in range(turns):
        U = np.column_stack(
            [elastic_net(S, b, u, alpha, beta) for b, u in zip(B.T, U.T, strict=True)]
        )
        P, _, Rt = np.linalg.svd(S @ U, full_matrices=False)
        B = P @ Rt
        path.append(sparse_pca_objective(S, B, U, alpha, beta))
        if len(path) > 1 and path[-2] - path[-1] <= tol * abs(path[-1]):
            break
    return B, U, path


def leading_eigenvectors(S, count):
    return np.linalg.eigh(S)[1][:, ::-1][:, :count]


def mspca(X, d1, d2, *, alpha, beta, tol=1e-4, sweeps=200, inner_tol=1e-6):
    """Return ``U1`` and ``U2`` with unit columns, ``B1`` and ``B2``; X is ``d1 x d2 x n``."""
    X = X - X.mean(axis=2, keepdims=True)
    B1 = U1 = leading_eigenvectors(np.einsum("ijk,ljk->il", X, X), d1)
    B2 = U2 = leading_eigenvectors(np.einsum("ijk,ilk->jl", X, X), d2)
    for _ in range(sweeps):
        before = U1, U2
        Y = np.einsum("ijk,jb->ibk", X, B2)
        B1, U1, _ = sparse_pca(np.einsum("ibk,lbk->il", Y, Y), B1, U1, alpha, beta, inner_tol)
        Y = np.einsum("ijk,ia->ajk", X, B1)
        B2, U2, _ = sparse_pca(np.einsum("ajk,alk->jl", Y, Y), B2, U2, alpha, beta, inner_tol)
        if max(np.linalg.norm(U1 - before[0]), np.linalg.norm(U2 - before[1])) < tol:
            break
    unit = [U / np.where(np.any(U, axis=0), np.linalg.norm(U, axis=0), 1) for U in (U1, U2)]
    return *unit, B1, B2
