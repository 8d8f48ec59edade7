/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of predictions by hardware, machine and family: MAPE, median, bias, share within 20 %. */
#include "sim/validate/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/base/num.h"

bool ll_error_add(struct ll_error_list *list, double predicted_s, double measured_s)
{
    double error = (predicted_s - measured_s) / measured_s;
    if (!ll_grow(&list->size, &list->capacity, list->count + 1, sizeof *list->size))
        return false;
    list->size[list->count++] = fabs(error);
    list->sum += error;
    list->size_sum += fabs(error);
    list->near[0] += fabs(error) <= 0.1;
    list->near[1] += fabs(error) <= 0.2;
    list->near[2] += fabs(error) <= 0.3;
    return true;
}

struct ll_errors ll_errors_of(struct ll_error_list *list)
{
    uint64_t n = list->count;
    if (n == 0)
        return (struct ll_errors){0, NAN, NAN, NAN, NAN, NAN, NAN};
    return (struct ll_errors){.points = n,
                              .mape = list->size_sum / (double)n,
                              .median_ape = ll_median(list->size, n),
                              .within_10pct = (double)list->near[0] / (double)n,
                              .within_20pct = (double)list->near[1] / (double)n,
                              .within_30pct = (double)list->near[2] / (double)n,
                              .bias = list->sum / (double)n};
}

void ll_errors_release(struct ll_error_list *list)
{
    free(list->size);
    *list = (struct ll_error_list){0};
}

void ll_error_cell_release(struct ll_error_cell *cell)
{
    for (int i = 0; i < LL_ERROR_SETS; i++)
        ll_errors_release(&cell->sets[i]);
}

struct ll_error_cell *ll_error_cell_of(struct ll_error_cells *cells, const char *key,
                                       const struct ll_prediction *row)
{
    bool is_new;
    uint32_t id = key ? ll_map_intern(&cells->keys, key, strlen(key), &is_new) : LL_NO_ID;
    if (id == LL_NO_ID || !ll_grow(&cells->at, &cells->capacity, (uint64_t)id + 1, sizeof *cells->at))
        return NULL;
    if (is_new)
        cells->at[id] = (struct ll_error_cell){.first = row};
    return &cells->at[id];
}

void ll_error_cells_release(struct ll_error_cells *cells)
{
    for (uint64_t i = 0; i < ll_min(cells->keys.count, cells->capacity); i++) /* one may lack its cell */
        ll_error_cell_release(&cells->at[i]);
    free(cells->at);
    ll_map_release(&cells->keys);
}
