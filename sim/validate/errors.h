/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of predicted times, row by row and summed up, of all rows or of those that have a key in common. */
#ifndef LL_SIM_VALIDATE_ERRORS_H
#define LL_SIM_VALIDATE_ERRORS_H

#include "tracer/base/map.h"

#include <stdbool.h>
#include <stdint.h>

struct ll_prediction;

/* Of a set of rows; NaN where there are none. Shares and errors are fractions. */
struct ll_errors {
    uint64_t points;
    double mape;                                     /* mean of the errors' size */
    double median_ape;                               /* median of it */
    double within_10pct, within_20pct, within_30pct; /* shares of rows */
    double bias; /* mean of the errors: above zero when predictions are too long */
};

/* Errors of some rows, as they come. Starts zeroed. */
struct ll_error_list {
    double *size, sum, size_sum;
    uint64_t count, capacity, near[3]; /* within 10, 20, 30 % */
};

/* The error is (predicted - measured) / measured. False when memory ran out. */
bool ll_error_add(struct ll_error_list *list, double predicted_s, double measured_s);

/* Sorts the list on the way. */
struct ll_errors ll_errors_of(struct ll_error_list *list);

/* Frees the list, which is {0} again. */
void ll_errors_release(struct ll_error_list *list);

enum { LL_ERROR_SETS = 6 };

/* Of rows that have a key in common: lists of errors, by whatever they are predicted. Starts zeroed. */
struct ll_error_cell {
    const struct ll_prediction *first; /* of these rows */
    struct ll_error_list sets[LL_ERROR_SETS];
};

/* Frees the lists. */
void ll_error_cell_release(struct ll_error_cell *cell);

/* In the order of their first rows; there are keys.count of them. Starts zeroed. */
struct ll_error_cells {
    struct ll_map keys;
    struct ll_error_cell *at;
    uint64_t capacity;
};

/* The cell of the key, begun with this row when there was none; NULL when memory ran out, as it has where the
 * key is NULL. */
struct ll_error_cell *ll_error_cell_of(struct ll_error_cells *cells, const char *key,
                                       const struct ll_prediction *row);

/* Frees cells and keys. */
void ll_error_cells_release(struct ll_error_cells *cells);

#endif
