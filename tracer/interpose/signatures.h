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
 *   WORK        a COUNT of workspace: -1 asks for the size and computes nothing
 *   SCALAR      a number of the routine's type; all that is kept of it is whether it is zero
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

/* clang-format on */

#endif
