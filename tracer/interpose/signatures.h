/* SPDX-License-Identifier: Apache-2.0 */
/* What routines take, once for all types and both manners of calling.
 *
 * LL_SIGNATURE_word(X, letter) is the list of a routine's arguments, each as X(letter, kind, name); wrappers
 * make parameters, arguments and words of a record of it, the reader makes variables. `letter` is s, d, c or
 * z.
 *
 *   ORDER       CBLAS alone: rows or columns first. LAYOUT: the same where Fortran names have it too
 *   TRANS UPLO SIDE DIAG JOB   a letter in Fortran (its length comes as a hidden argument), a number in CBLAS
 *   COUNT       a whole number, by reference in Fortran
 *   WORK        a COUNT of workspace: -1 asks for the size and computes nothing, -2 for the least one
 *   SCALAR      a number of the routine's type; kept of it is whether it is zero, one, or else
 *   PART        the same, real where the type is complex
 *   PLAIN       a real number of which nothing is kept
 *   ARRAY       an address that is kept
 *   OTHER       an address that is not
 *   IF_COMPLEX, IF_REAL        an OTHER that routines of these types alone have
 *
 * Two signatures that a routine's names mix give the same words in the same order. */
#ifndef LL_INTERPOSE_SIGNATURES_H
#define LL_INTERPOSE_SIGNATURES_H

/* clang-format off */

/* BLAS 3. */
#define LL_SIGNATURE_GEMM(X, l) X(l, ORDER, order) X(l, TRANS, transa) X(l, TRANS, transb) X(l, COUNT, m)    \
    X(l, COUNT, n) X(l, COUNT, k) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b)         \
    X(l, COUNT, ldb) X(l, SCALAR, beta) X(l, ARRAY, c) X(l, COUNT, ldc)
#define LL_SIGNATURE_GEMMT(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, TRANS, transb) \
    X(l, COUNT, n) X(l, COUNT, k) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b)         \
    X(l, COUNT, ldb) X(l, SCALAR, beta) X(l, ARRAY, c) X(l, COUNT, ldc)
#define LL_SIGNATURE_GEMM_BATCH(X, l) X(l, ORDER, order) X(l, TRANS, transa) X(l, TRANS, transb)             \
    X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, k) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda)         \
    X(l, COUNT, stridea) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, COUNT, strideb) X(l, SCALAR, beta)             \
    X(l, ARRAY, c) X(l, COUNT, ldc) X(l, COUNT, stridec) X(l, COUNT, batch)
#define LL_SIGNATURE_SYMM(X, l) X(l, ORDER, order) X(l, SIDE, side) X(l, UPLO, uplo) X(l, COUNT, m)          \
    X(l, COUNT, n) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb)       \
    X(l, SCALAR, beta) X(l, ARRAY, c) X(l, COUNT, ldc)
#define LL_SIGNATURE_SYRK(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, COUNT, n)       \
    X(l, COUNT, k) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, SCALAR, beta) X(l, ARRAY, c)     \
    X(l, COUNT, ldc)
#define LL_SIGNATURE_HERK(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, COUNT, n)       \
    X(l, COUNT, k) X(l, PART, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, PART, beta) X(l, ARRAY, c)         \
    X(l, COUNT, ldc)
#define LL_SIGNATURE_SYR2K(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, COUNT, n)      \
    X(l, COUNT, k) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb)       \
    X(l, SCALAR, beta) X(l, ARRAY, c) X(l, COUNT, ldc)
#define LL_SIGNATURE_HER2K(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, COUNT, n)      \
    X(l, COUNT, k) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb)       \
    X(l, PART, beta) X(l, ARRAY, c) X(l, COUNT, ldc)
#define LL_SIGNATURE_TRMM(X, l) X(l, ORDER, order) X(l, SIDE, side) X(l, UPLO, uplo) X(l, TRANS, transa)     \
    X(l, DIAG, diag) X(l, COUNT, m) X(l, COUNT, n) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda)       \
    X(l, ARRAY, b) X(l, COUNT, ldb)
#define LL_SIGNATURE_TRSM LL_SIGNATURE_TRMM
#define LL_SIGNATURE_OMATCOPY(X, l) X(l, LAYOUT, order) X(l, TRANS, transa) X(l, COUNT, m) X(l, COUNT, n)    \
    X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb)
#define LL_SIGNATURE_IMATCOPY(X, l) X(l, LAYOUT, order) X(l, TRANS, transa) X(l, COUNT, m) X(l, COUNT, n)    \
    X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, COUNT, ldb)
#define LL_SIGNATURE_GEADD(X, l) X(l, ORDER, order) X(l, COUNT, m) X(l, COUNT, n) X(l, SCALAR, alpha)        \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, SCALAR, beta) X(l, ARRAY, c) X(l, COUNT, ldc)

/* BLAS 2. */
#define LL_SIGNATURE_GEMV(X, l) X(l, ORDER, order) X(l, TRANS, transa) X(l, COUNT, m) X(l, COUNT, n)         \
    X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, x) X(l, COUNT, incx)                     \
    X(l, SCALAR, beta) X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_GBMV(X, l) X(l, ORDER, order) X(l, TRANS, transa) X(l, COUNT, m) X(l, COUNT, n)         \
    X(l, COUNT, kl) X(l, COUNT, ku) X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, x)       \
    X(l, COUNT, incx) X(l, SCALAR, beta) X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_SYMV(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, SCALAR, alpha)       \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, x) X(l, COUNT, incx) X(l, SCALAR, beta) X(l, ARRAY, y)       \
    X(l, COUNT, incy)
#define LL_SIGNATURE_SBMV(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, k)            \
    X(l, SCALAR, alpha) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, x) X(l, COUNT, incx)                     \
    X(l, SCALAR, beta) X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_SPMV(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, SCALAR, alpha)       \
    X(l, ARRAY, a) X(l, ARRAY, x) X(l, COUNT, incx) X(l, SCALAR, beta) X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_TRMV(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, DIAG, diag)     \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, x) X(l, COUNT, incx)
#define LL_SIGNATURE_TRSV LL_SIGNATURE_TRMV
#define LL_SIGNATURE_TBMV(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, DIAG, diag)     \
    X(l, COUNT, n) X(l, COUNT, k) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, x) X(l, COUNT, incx)
#define LL_SIGNATURE_TBSV LL_SIGNATURE_TBMV
#define LL_SIGNATURE_TPMV(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, DIAG, diag)     \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, ARRAY, x) X(l, COUNT, incx)
#define LL_SIGNATURE_TPSV LL_SIGNATURE_TPMV
#define LL_SIGNATURE_GER(X, l) X(l, ORDER, order) X(l, COUNT, m) X(l, COUNT, n) X(l, SCALAR, alpha)          \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, y) X(l, COUNT, incy) X(l, ARRAY, a) X(l, COUNT, lda)
#define LL_SIGNATURE_SYR(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, SCALAR, alpha)        \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, a) X(l, COUNT, lda)
#define LL_SIGNATURE_HER(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, PART, alpha)          \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, a) X(l, COUNT, lda)
#define LL_SIGNATURE_SPR(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, SCALAR, alpha)        \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, a)
#define LL_SIGNATURE_HPR(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, PART, alpha)          \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, a)
#define LL_SIGNATURE_SYR2(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, SCALAR, alpha)       \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, y) X(l, COUNT, incy) X(l, ARRAY, a) X(l, COUNT, lda)
#define LL_SIGNATURE_SPR2(X, l) X(l, ORDER, order) X(l, UPLO, uplo) X(l, COUNT, n) X(l, SCALAR, alpha)       \
    X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, y) X(l, COUNT, incy) X(l, ARRAY, a)

/* BLAS 1. */
#define LL_SIGNATURE_AXPY(X, l) X(l, COUNT, n) X(l, SCALAR, alpha) X(l, ARRAY, x) X(l, COUNT, incx)          \
    X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_AXPBY(X, l) X(l, COUNT, n) X(l, SCALAR, alpha) X(l, ARRAY, x) X(l, COUNT, incx)         \
    X(l, SCALAR, beta) X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_COPY(X, l) X(l, COUNT, n) X(l, ARRAY, x) X(l, COUNT, incx) X(l, ARRAY, y)               \
    X(l, COUNT, incy)
#define LL_SIGNATURE_SWAP LL_SIGNATURE_COPY
#define LL_SIGNATURE_DOT LL_SIGNATURE_COPY
#define LL_SIGNATURE_DOT_INTO(X, l) LL_SIGNATURE_COPY(X, l) X(l, OTHER, result)
#define LL_SIGNATURE_DOT_ONTO(X, l) X(l, COUNT, n) X(l, PLAIN, sum) X(l, ARRAY, x) X(l, COUNT, incx)     \
    X(l, ARRAY, y) X(l, COUNT, incy)
#define LL_SIGNATURE_SCAL(X, l) X(l, COUNT, n) X(l, SCALAR, alpha) X(l, ARRAY, x) X(l, COUNT, incx)
#define LL_SIGNATURE_SCAL_PART(X, l) X(l, COUNT, n) X(l, PART, alpha) X(l, ARRAY, x) X(l, COUNT, incx)
#define LL_SIGNATURE_NRM2(X, l) X(l, COUNT, n) X(l, ARRAY, x) X(l, COUNT, incx)
#define LL_SIGNATURE_ASUM LL_SIGNATURE_NRM2
#define LL_SIGNATURE_IAMAX LL_SIGNATURE_NRM2
#define LL_SIGNATURE_ROT(X, l) LL_SIGNATURE_COPY(X, l) X(l, PLAIN, cosine) X(l, PLAIN, sine)
#define LL_SIGNATURE_ROTM(X, l) LL_SIGNATURE_COPY(X, l) X(l, OTHER, param)

/* LAPACK. */
#define LL_SIGNATURE_GESV(X, l) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a) X(l, COUNT, lda)             \
    X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_GBSV(X, l) X(l, COUNT, n) X(l, COUNT, kl) X(l, COUNT, ku) X(l, COUNT, nrhs)             \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_GTSV(X, l) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, dl) X(l, ARRAY, d)              \
    X(l, ARRAY, du) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_GETRF(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)               \
    X(l, ARRAY, ipiv) X(l, OTHER, info)
#define LL_SIGNATURE_GETRS(X, l) X(l, TRANS, transa) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)         \
    X(l, COUNT, lda) X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_GETRI(X, l) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, ipiv)            \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_POTRF(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)             \
    X(l, OTHER, info)
#define LL_SIGNATURE_POTRI LL_SIGNATURE_POTRF
#define LL_SIGNATURE_POTRS(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)            \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_POSV LL_SIGNATURE_POTRS
#define LL_SIGNATURE_SYTRF(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)             \
    X(l, ARRAY, ipiv) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYTRS(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)            \
    X(l, COUNT, lda) X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_SYSV(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)             \
    X(l, COUNT, lda) X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, work) X(l, WORK, lwork)   \
    X(l, OTHER, info)
#define LL_SIGNATURE_TRTRI(X, l) X(l, UPLO, uplo) X(l, DIAG, diag) X(l, COUNT, n) X(l, ARRAY, a)             \
    X(l, COUNT, lda) X(l, OTHER, info)
#define LL_SIGNATURE_TRTRS(X, l) X(l, UPLO, uplo) X(l, TRANS, transa) X(l, DIAG, diag) X(l, COUNT, n)        \
    X(l, COUNT, nrhs) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_GEQRF(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)               \
    X(l, ARRAY, tau) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_GELQF LL_SIGNATURE_GEQRF
#define LL_SIGNATURE_GEQP3(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)               \
    X(l, ARRAY, ipiv) X(l, ARRAY, tau) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork)           \
    X(l, OTHER, info)
#define LL_SIGNATURE_ORGQR(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, k) X(l, ARRAY, a)                 \
    X(l, COUNT, lda) X(l, ARRAY, tau) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_ORMQR(X, l) X(l, SIDE, side) X(l, TRANS, transa) X(l, COUNT, m) X(l, COUNT, n)          \
    X(l, COUNT, k) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, tau) X(l, ARRAY, c) X(l, COUNT, ldc)          \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_GELS(X, l) X(l, TRANS, transa) X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, nrhs)          \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, work) X(l, WORK, lwork)      \
    X(l, OTHER, info)
#define LL_SIGNATURE_GELSD(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)              \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, s) X(l, OTHER, rcond) X(l, OTHER, rank)     \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_GELSS(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)              \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, s) X(l, OTHER, rcond) X(l, OTHER, rank)     \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_GELSY(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)              \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, ipiv) X(l, OTHER, rcond) X(l, OTHER, rank)  \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYEV(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a)               \
    X(l, COUNT, lda) X(l, ARRAY, w) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork)              \
    X(l, OTHER, info)
#define LL_SIGNATURE_SYEVD(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a)              \
    X(l, COUNT, lda) X(l, ARRAY, w) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork)              \
    X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, WORK, liwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYEVR(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo) X(l, COUNT, n)            \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi)          \
    X(l, OTHER, abstol) X(l, OTHER, found) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz)                    \
    X(l, OTHER, isuppz) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork) \
    X(l, OTHER, iwork) X(l, WORK, liwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYGVD(X, l) X(l, COUNT, itype) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n)          \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w) X(l, OTHER, work)         \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, WORK, liwork) \
    X(l, OTHER, info)
#define LL_SIGNATURE_GEEV(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, COUNT, n) X(l, ARRAY, a)                \
    X(l, COUNT, lda) X(l, ARRAY, w) X(l, IF_REAL, wi) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v)         \
    X(l, COUNT, ldv) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_GGEV(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, COUNT, n) X(l, ARRAY, a)                \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w) X(l, IF_REAL, wi) X(l, OTHER, scale)     \
    X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v) X(l, COUNT, ldv) X(l, OTHER, work) X(l, WORK, lwork)      \
    X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_GEES(X, l) X(l, JOB, jobu) X(l, JOB, sort) X(l, OTHER, select) X(l, COUNT, n)           \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, sdim) X(l, ARRAY, w) X(l, IF_REAL, wi) X(l, ARRAY, u)        \
    X(l, COUNT, ldu) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, bwork)          \
    X(l, OTHER, info)
#define LL_SIGNATURE_GESVD(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, COUNT, m) X(l, COUNT, n)               \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, s) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v)            \
    X(l, COUNT, ldv) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_GESDD(X, l) X(l, JOB, jobu) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a)                \
    X(l, COUNT, lda) X(l, ARRAY, s) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v) X(l, COUNT, ldv)          \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYTRD(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)             \
    X(l, ARRAY, d) X(l, ARRAY, e) X(l, ARRAY, tau) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_GEBRD(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)               \
    X(l, ARRAY, d) X(l, ARRAY, e) X(l, OTHER, tauq) X(l, OTHER, taup) X(l, OTHER, work) X(l, WORK, lwork)    \
    X(l, OTHER, info)
#define LL_SIGNATURE_GEHRD(X, l) X(l, COUNT, n) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, ARRAY, a)             \
    X(l, COUNT, lda) X(l, ARRAY, tau) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)

/* The other drivers of LAPACK. */
#define LL_SIGNATURE_GESVX(X, l) X(l, JOB, fact) X(l, TRANS, transa) X(l, COUNT, n) X(l, COUNT, nrhs)        \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, af) X(l, COUNT, ldaf) X(l, OTHER, ipiv) X(l, JOB, equed)     \
    X(l, OTHER, r) X(l, OTHER, c) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx)            \
    X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work) X(l, OTHER, iwork)              \
    X(l, OTHER, info)
#define LL_SIGNATURE_GBSVX(X, l) X(l, JOB, fact) X(l, TRANS, transa) X(l, COUNT, n) X(l, COUNT, kl)          \
    X(l, COUNT, ku) X(l, COUNT, nrhs) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, af) X(l, COUNT, ldaf)      \
    X(l, OTHER, ipiv) X(l, JOB, equed) X(l, OTHER, r) X(l, OTHER, c) X(l, ARRAY, b) X(l, COUNT, ldb)         \
    X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work) \
    X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_GTSVX(X, l) X(l, JOB, fact) X(l, TRANS, transa) X(l, COUNT, n) X(l, COUNT, nrhs)        \
    X(l, ARRAY, dl) X(l, ARRAY, d) X(l, ARRAY, du) X(l, OTHER, dlf) X(l, OTHER, df) X(l, OTHER, duf)         \
    X(l, OTHER, du2) X(l, OTHER, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx)       \
    X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work) X(l, OTHER, iwork)              \
    X(l, OTHER, info)
#define LL_SIGNATURE_POSVX(X, l) X(l, JOB, fact) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs)           \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, af) X(l, COUNT, ldaf) X(l, JOB, equed) X(l, OTHER, s)        \
    X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, rcond) X(l, OTHER, ferr)     \
    X(l, OTHER, berr) X(l, OTHER, work) X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_PPSV(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)             \
    X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_PPSVX(X, l) X(l, JOB, fact) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs)           \
    X(l, ARRAY, a) X(l, ARRAY, af) X(l, JOB, equed) X(l, OTHER, s) X(l, ARRAY, b) X(l, COUNT, ldb)           \
    X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work) \
    X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_PBSV(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, k) X(l, COUNT, nrhs)             \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_PBSVX(X, l) X(l, JOB, fact) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, k)              \
    X(l, COUNT, nrhs) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, af) X(l, COUNT, ldaf) X(l, JOB, equed)     \
    X(l, OTHER, s) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, rcond)        \
    X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work) X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_PTSV(X, l) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, d) X(l, ARRAY, e)               \
    X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_PTSVX(X, l) X(l, JOB, fact) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, d)             \
    X(l, ARRAY, e) X(l, OTHER, df) X(l, OTHER, ef) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x)            \
    X(l, COUNT, ldx) X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work)                \
    X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYSV_RK(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)          \
    X(l, COUNT, lda) X(l, OTHER, e) X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, work)      \
    X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYSV_AA_2STAGE(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)   \
    X(l, COUNT, lda) X(l, OTHER, tb) X(l, WORK, ltb) X(l, ARRAY, ipiv) X(l, OTHER, ipiv2) X(l, ARRAY, b)     \
    X(l, COUNT, ldb) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYSVX(X, l) X(l, JOB, fact) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs)           \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, af) X(l, COUNT, ldaf) X(l, ARRAY, ipiv) X(l, ARRAY, b)       \
    X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr)  \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_SPSV(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)             \
    X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, info)
#define LL_SIGNATURE_SPSVX(X, l) X(l, JOB, fact) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs)           \
    X(l, ARRAY, a) X(l, ARRAY, af) X(l, ARRAY, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x)          \
    X(l, COUNT, ldx) X(l, OTHER, rcond) X(l, OTHER, ferr) X(l, OTHER, berr) X(l, OTHER, work)                \
    X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_GGLSE(X, l) X(l, COUNT, m) X(l, COUNT, n) X(l, COUNT, p) X(l, ARRAY, a)                 \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, c) X(l, ARRAY, d) X(l, ARRAY, x)            \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_GGGLM(X, l) X(l, COUNT, n) X(l, COUNT, m) X(l, COUNT, p) X(l, ARRAY, a)                 \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, d) X(l, ARRAY, x) X(l, ARRAY, y)            \
    X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYEVX(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo) X(l, COUNT, n)            \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi)        \
    X(l, OTHER, abstol) X(l, OTHER, m) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)      \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_SPEV(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a)               \
    X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, IF_COMPLEX, rwork)                 \
    X(l, OTHER, info)
#define LL_SIGNATURE_SPEVD(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, ARRAY, a)              \
    X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, WORK, lwork)                       \
    X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, WORK, liwork) X(l, OTHER, info)
#define LL_SIGNATURE_SPEVX(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo) X(l, COUNT, n)            \
    X(l, ARRAY, a) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, OTHER, abstol)     \
    X(l, OTHER, m) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, IF_COMPLEX, rwork)  \
    X(l, OTHER, iwork) X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_SBEV(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, k)               \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)         \
    X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SBEV_2STAGE(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, k)        \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)         \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SBEVD(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, k)              \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)         \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, WORK, liwork) \
    X(l, OTHER, info)
#define LL_SIGNATURE_SBEVX(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo) X(l, COUNT, n)            \
    X(l, COUNT, k) X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, q) X(l, COUNT, ldq) X(l, OTHER, vl)           \
    X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, OTHER, abstol) X(l, OTHER, m) X(l, ARRAY, w)      \
    X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork)             \
    X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_SBEVX_2STAGE(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo) X(l, COUNT, n)     \
    X(l, COUNT, k) X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, q) X(l, COUNT, ldq) X(l, OTHER, vl)           \
    X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, OTHER, abstol) X(l, OTHER, m) X(l, ARRAY, w)      \
    X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork)              \
    X(l, OTHER, iwork) X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_STEV(X, l) X(l, JOB, jobu) X(l, COUNT, n) X(l, ARRAY, d) X(l, ARRAY, e) X(l, ARRAY, z)  \
    X(l, COUNT, ldz) X(l, OTHER, work) X(l, OTHER, info)
#define LL_SIGNATURE_STEVD(X, l) X(l, JOB, jobu) X(l, COUNT, n) X(l, ARRAY, d) X(l, ARRAY, e) X(l, ARRAY, z) \
    X(l, COUNT, ldz) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, iwork) X(l, WORK, liwork)               \
    X(l, OTHER, info)
#define LL_SIGNATURE_STEVX(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, COUNT, n) X(l, ARRAY, d)              \
    X(l, ARRAY, e) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, OTHER, abstol)     \
    X(l, OTHER, m) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, OTHER, iwork)       \
    X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_STEVR(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, COUNT, n) X(l, ARRAY, d)              \
    X(l, ARRAY, e) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, OTHER, abstol)     \
    X(l, OTHER, m) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, isuppz) X(l, OTHER, work)      \
    X(l, WORK, lwork) X(l, OTHER, iwork) X(l, WORK, liwork) X(l, OTHER, info)
#define LL_SIGNATURE_GEESX(X, l) X(l, JOB, jobu) X(l, JOB, sort) X(l, OTHER, select) X(l, JOB, sense)        \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, sdim) X(l, ARRAY, w) X(l, IF_REAL, wi)        \
    X(l, ARRAY, u) X(l, COUNT, ldu) X(l, OTHER, rconde) X(l, OTHER, rcondv) X(l, OTHER, work)                \
    X(l, WORK, lwork) X(l, IF_REAL, iwork) X(l, IF_REAL, liwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, bwork)  \
    X(l, OTHER, info)
#define LL_SIGNATURE_GEEVX(X, l) X(l, JOB, balanc) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, sense)          \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, w) X(l, IF_REAL, wi) X(l, ARRAY, u)           \
    X(l, COUNT, ldu) X(l, ARRAY, v) X(l, COUNT, ldv) X(l, OTHER, ilo) X(l, OTHER, ihi) X(l, OTHER, scale)    \
    X(l, OTHER, abnrm) X(l, OTHER, rconde) X(l, OTHER, rcondv) X(l, OTHER, work) X(l, WORK, lwork)           \
    X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_GESVDX(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, range) X(l, COUNT, m)            \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo)          \
    X(l, COUNT, ihi) X(l, OTHER, ns) X(l, ARRAY, s) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v)           \
    X(l, COUNT, ldv) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork)          \
    X(l, OTHER, info)
#define LL_SIGNATURE_GESVJ(X, l) X(l, JOB, joba) X(l, JOB, jobu) X(l, JOB, jobv) X(l, COUNT, m)              \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, s) X(l, COUNT, mv) X(l, ARRAY, v)             \
    X(l, COUNT, ldv) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork)    \
    X(l, OTHER, info)
#define LL_SIGNATURE_GEJSV(X, l) X(l, JOB, joba) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, jobr)             \
    X(l, JOB, jobt) X(l, JOB, jobp) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda)            \
    X(l, ARRAY, s) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v) X(l, COUNT, ldv) X(l, OTHER, work)         \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_GESVDQ(X, l) X(l, JOB, joba) X(l, JOB, jobp) X(l, JOB, jobr) X(l, JOB, jobu)            \
    X(l, JOB, jobv) X(l, COUNT, m) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, s)             \
    X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v) X(l, COUNT, ldv) X(l, OTHER, numrank) X(l, OTHER, iwork)  \
    X(l, WORK, liwork) X(l, OTHER, work) X(l, WORK, lwork) X(l, OTHER, rwork) X(l, OTHER, lrwork)            \
    X(l, OTHER, info)
#define LL_SIGNATURE_SYGV(X, l) X(l, COUNT, itype) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n)           \
    X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w) X(l, OTHER, work)         \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SYGVX(X, l) X(l, COUNT, itype) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo)        \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, vl)           \
    X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi) X(l, OTHER, abstol) X(l, OTHER, m) X(l, ARRAY, w)      \
    X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork)              \
    X(l, OTHER, iwork) X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_SPGV(X, l) X(l, COUNT, itype) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n)           \
    X(l, ARRAY, a) X(l, ARRAY, b) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)           \
    X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SPGVD(X, l) X(l, COUNT, itype) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n)          \
    X(l, ARRAY, a) X(l, ARRAY, b) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)           \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, WORK, liwork) \
    X(l, OTHER, info)
#define LL_SIGNATURE_SPGVX(X, l) X(l, COUNT, itype) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo)        \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, ARRAY, b) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo)            \
    X(l, COUNT, ihi) X(l, OTHER, abstol) X(l, OTHER, m) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz)       \
    X(l, OTHER, work) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_SBGV(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, ka)              \
    X(l, COUNT, kb) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w)           \
    X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, IF_COMPLEX, rwork) X(l, OTHER, info)
#define LL_SIGNATURE_SBGVD(X, l) X(l, JOB, jobu) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, ka)             \
    X(l, COUNT, kb) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w)           \
    X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork)              \
    X(l, IF_COMPLEX, lrwork) X(l, OTHER, iwork) X(l, WORK, liwork) X(l, OTHER, info)
#define LL_SIGNATURE_SBGVX(X, l) X(l, JOB, jobu) X(l, JOB, range) X(l, UPLO, uplo) X(l, COUNT, n)            \
    X(l, COUNT, ka) X(l, COUNT, kb) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb)          \
    X(l, OTHER, q) X(l, COUNT, ldq) X(l, OTHER, vl) X(l, OTHER, vu) X(l, COUNT, ilo) X(l, COUNT, ihi)        \
    X(l, OTHER, abstol) X(l, OTHER, m) X(l, ARRAY, w) X(l, ARRAY, z) X(l, COUNT, ldz) X(l, OTHER, work)      \
    X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, OTHER, ifail) X(l, OTHER, info)
#define LL_SIGNATURE_GGES(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, sort) X(l, OTHER, selctg)          \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, OTHER, sdim)         \
    X(l, ARRAY, w) X(l, IF_REAL, alphai) X(l, OTHER, beta) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v)    \
    X(l, COUNT, ldv) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, bwork)          \
    X(l, OTHER, info)
#define LL_SIGNATURE_GGESX(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, sort) X(l, OTHER, selctg)         \
    X(l, JOB, sense) X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb)          \
    X(l, OTHER, sdim) X(l, ARRAY, w) X(l, IF_REAL, alphai) X(l, OTHER, beta) X(l, ARRAY, u) X(l, COUNT, ldu) \
    X(l, ARRAY, v) X(l, COUNT, ldv) X(l, OTHER, rconde) X(l, OTHER, rcondv) X(l, OTHER, work)                \
    X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, WORK, liwork) X(l, OTHER, bwork)       \
    X(l, OTHER, info)
#define LL_SIGNATURE_GGEVX(X, l) X(l, JOB, balanc) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, sense)          \
    X(l, COUNT, n) X(l, ARRAY, a) X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w)            \
    X(l, IF_REAL, alphai) X(l, OTHER, beta) X(l, ARRAY, u) X(l, COUNT, ldu) X(l, ARRAY, v) X(l, COUNT, ldv)  \
    X(l, OTHER, ilo) X(l, OTHER, ihi) X(l, OTHER, lscale) X(l, OTHER, rscale) X(l, OTHER, abnrm)             \
    X(l, OTHER, bbnrm) X(l, OTHER, rconde) X(l, OTHER, rcondv) X(l, OTHER, work) X(l, WORK, lwork)           \
    X(l, IF_COMPLEX, rwork) X(l, OTHER, iwork) X(l, OTHER, bwork) X(l, OTHER, info)
#define LL_SIGNATURE_GGSVD(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, jobq) X(l, COUNT, m)            \
    X(l, COUNT, n) X(l, COUNT, p) X(l, OTHER, k) X(l, OTHER, rank) X(l, ARRAY, a) X(l, COUNT, lda)              \
    X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w) X(l, OTHER, beta) X(l, ARRAY, u) X(l, COUNT, ldu)         \
    X(l, ARRAY, v) X(l, COUNT, ldv) X(l, ARRAY, q) X(l, COUNT, ldq) X(l, OTHER, work) X(l, IF_COMPLEX, rwork) \
    X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_GGSVD3(X, l) X(l, JOB, jobu) X(l, JOB, jobv) X(l, JOB, jobq) X(l, COUNT, m)            \
    X(l, COUNT, n) X(l, COUNT, p) X(l, OTHER, k) X(l, OTHER, rank) X(l, ARRAY, a) X(l, COUNT, lda)              \
    X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, w) X(l, OTHER, beta) X(l, ARRAY, u) X(l, COUNT, ldu)         \
    X(l, ARRAY, v) X(l, COUNT, ldv) X(l, ARRAY, q) X(l, COUNT, ldq) X(l, OTHER, work) X(l, WORK, lwork) X(l, IF_COMPLEX, rwork) \
    X(l, OTHER, iwork) X(l, OTHER, info)
#define LL_SIGNATURE_MIXED_GESV(X, l) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a) X(l, COUNT, lda)        \
    X(l, OTHER, ipiv) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, work)      \
    X(l, OTHER, swork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iter) X(l, OTHER, info)
#define LL_SIGNATURE_MIXED_POSV(X, l) X(l, UPLO, uplo) X(l, COUNT, n) X(l, COUNT, nrhs) X(l, ARRAY, a)       \
    X(l, COUNT, lda) X(l, ARRAY, b) X(l, COUNT, ldb) X(l, ARRAY, x) X(l, COUNT, ldx) X(l, OTHER, work)       \
    X(l, OTHER, swork) X(l, IF_COMPLEX, rwork) X(l, OTHER, iter) X(l, OTHER, info)

/* clang-format on */

#endif
