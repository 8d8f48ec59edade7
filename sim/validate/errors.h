/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of predicted times, row by row and summed up. */
#ifndef LL_SIM_VALIDATE_ERRORS_H
#define LL_SIM_VALIDATE_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

/* Of a set of rows; NaN where there are none. Shares and errors are fractions. */
struct ll_errors {
    uint64_t points;
    double mape;         /* mean of the errors' size */
    double median_ape;   /* median of it */
    double within_20pct; /* share of rows */
    double bias;         /* mean of the errors: above zero when predictions are too long */
};

/* Errors of some rows, as they come. Starts zeroed. */
struct ll_error_list {
    double *size, sum, size_sum;
    uint64_t count, capacity, near;
};

/* The error is (predicted - measured) / measured. False when memory ran out. */
bool ll_error_add(struct ll_error_list *list, double predicted_s, double measured_s);

/* Sorts the list on the way. */
struct ll_errors ll_errors_of(struct ll_error_list *list);

/* Frees the list, which is {0} again. */
void ll_errors_release(struct ll_error_list *list);

#endif
