# SPDX-License-Identifier: Apache-2.0
"""NumPy and SciPy as they are: products, decompositions and solves within 2 % of the leading terms of their
published counts (Golub and Van Loan; LAPACK Working Note 41), complex numbers at four times as many."""
import sys

import foreign

N = 400
SETUP = f"""
import numpy as np
n = {N}
a = np.random.default_rng(1).standard_normal((n, n)); b = a[:, :3].copy(); c = a + 1j * a.T
s = np.einsum('ij,kj->ik', a, a) + n * np.eye(n)
f = a.astype(np.float32)
"""
CUBE = float(N) ** 3
NUMPY = {
    "a @ a": 2 * CUBE,
    "f @ f": 2 * CUBE,
    "a @ a.T": CUBE,  # a triangle: syrk
    "c @ c": 8 * CUBE,
    "a @ b": 6 * N * N,
    "a @ b[:, 0]": 2 * N * N,
    "np.tensordot(a, a, 1)": 2 * CUBE,
    "np.stack([a, a]) @ np.stack([a, a])": 4 * CUBE,
    "np.einsum('ij,jk->ik', a, a, optimize=True)": 2 * CUBE,
    "np.linalg.solve(a, b)": 2 / 3 * CUBE + 6 * N * N,
    "np.linalg.solve(c, c)": 4 * (2 / 3 + 2) * CUBE,
    "np.linalg.inv(a)": (2 / 3 + 2) * CUBE,
    "np.linalg.det(a)": 2 / 3 * CUBE,
    "np.linalg.cholesky(s)": 1 / 3 * CUBE,
    "np.linalg.qr(a)": (4 / 3 + 4 / 3) * CUBE,
    "np.linalg.eigvalsh(s)": 4 / 3 * CUBE,
    "np.linalg.eigh(s)": (4 / 3 + 4 / 3 + 2) * CUBE,
    "np.linalg.eigvals(a)": 10 * CUBE,
    "np.linalg.eig(a)": (26 + 1 / 3) * CUBE,
    "np.linalg.svd(a, compute_uv=False)": 8 / 3 * CUBE,
    "np.linalg.svd(a)": (8 / 3 + 4) * CUBE,
}
SCIPY = {
    "scipy.linalg.lu_factor(a)": 2 / 3 * CUBE,
    "scipy.linalg.cho_solve(scipy.linalg.cho_factor(s), b)": 1 / 3 * CUBE + 6 * N * N,
    "scipy.linalg.solve_triangular(s, a)": CUBE,
    "scipy.linalg.blas.dgemm(1.0, a, a)": 2 * CUBE,
    "scipy.linalg.blas.dtrmm(1.0, s, a)": CUBE,
    "scipy.linalg.blas.dgbmv(n, n, 2, 1, 1.0, a[:4], a[0])": 2 * 4 * N,
    "scipy.linalg.blas.zhbmv(2, 1.0, c[:3], c[0])": 8 * 5 * N,
    "scipy.linalg.blas.dspmv(n, 1.0, np.ones(n * (n + 1) // 2), a[0])": 2 * N * N,
    "scipy.linalg.blas.dtpsv(n, np.ones(n * (n + 1) // 2), a[0])": N * N,
    "scipy.linalg.solve_banded((2, 1), np.ones((4, n)) + 9 * (np.arange(4)[:, None] == 1), b)": 28 * N,
    "scipy.linalg.solveh_banded(np.array([[0.1], [9]]) + np.zeros(n), b)": (3 + 3 * 5) * N,
    "scipy.linalg.lapack.dpbsv(np.array([[0.1], [0.1], [9]]) + np.zeros(n), b)": (9 + 3 * 10) * N,
    "scipy.linalg.lapack.dgesvx(s, b)": 2 / 3 * CUBE + 6 * N * N,
    "scipy.linalg.lapack.dsysvx(a + a.T, b)": 1 / 3 * CUBE + 6 * N * N,
    "scipy.linalg.lapack.dgglse(a, np.eye(9, n), a[0], a[0, :9])": (4 / 3 + 4 * 9 / N) * CUBE,
    "scipy.linalg.eigh(a + a.T, s)": (1 / 3 + 1 + 1 + 4 / 3 + 4 / 3 + 2) * CUBE,
    "scipy.linalg.eigh(a + a.T, driver='evx')": (4 / 3 + 2) * CUBE,
    "scipy.linalg.eig_banded(np.ones((4, n)))": (2 + 4 / 3 + 2) * CUBE + 12 * N * N,
    "scipy.linalg.schur(a)": 25 * CUBE,
    "scipy.linalg.eigvals(a, s)": 30 * CUBE,
    "scipy.linalg.eig(a, s)": 50 * CUBE,
    "scipy.linalg.qz(a, s)": 66 * CUBE,
}


def check(setup, expressions):
    failed = 0
    for expression, expected in expressions.items():
        flops, kinds = foreign.record(foreign.PYTHON, "-c", setup + expression, machines=foreign.MACHINES[:1])
        if abs(flops - expected) > 0.02 * expected:
            print(f"{expression}: {flops:.6g} FLOP captured, {expected:.6g} published")
            failed += 1
        if "opaque" in kinds:
            print(f"{expression}: {kinds['opaque']} calls of which nothing is known")
            failed += 1
    return failed


def main():
    foreign.needs("numpy")
    failed = check(SETUP, NUMPY)
    foreign.needs("scipy") if not failed else None
    failed += check(SETUP + "import scipy.linalg\n", SCIPY)
    sys.exit(failed > 0)


main()
