/* SPDX-License-Identifier: Apache-2.0 */
/* A library that calls the tiny one. */
#include "tiny.h"

void user_add(double *sum)
{
    const double one = 1;
    cblas_daxpy(1, 1, &one, 1, sum, 1);
}
