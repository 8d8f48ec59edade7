/* SPDX-License-Identifier: Apache-2.0 */
/* Calls each routine of the library, with numbers that tell the arguments apart. */
#include "many.h"

static double memory[4096];

int main(void)
{
    double *a = memory, *b = memory + 1000, *c = memory + 2000;
    const double one[2] = {0, 1}, nought[2] = {0, 0};
    const float some = 2, none = 0;
    const int m = 3, n = 4, k = 5, lda = 6, ldb = 7, ldc = 8, ask = -1, room = 100;
    const int64_t rows = 9, cols = 10, leading = (1ll << 33) + 11, step = 2, back = -3;
    int info = 0;
    cblas_dgemm(101, 111, 112, 3, 4, 5, 1.5, a, 6, b, 7, 0, c, 8);
    cblas_dgemm(102, 112, 111, 3, 4, 5, 0, a, 6, b, 7, 2, c, 8);
    cblas_cherk(102, 121, 111, 4, 5, 0.5f, a, 6, 0, c, 8);
    cblas_dscal64_((1ll << 33) + 12, 3, a, 2);
    zgemm_("N", "C", &m, &n, &k, one, a, &lda, b, &ldb, nought, c, &ldc, 1, 1);
    sgemv_64_("T", &rows, &cols, &some, (float *)a, &leading, (float *)b, &step, &none, (float *)c, &back, 1);
    dgeqrf_(&m, &n, a, &lda, b, c, &ask, &info);
    dgeqrf_(&m, &n, a, &lda, b, c, &room, &info);
    return 3;
}
