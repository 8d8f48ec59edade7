/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a JSON document by their paths: every number and truth value gets its path as a name, so
 * that a check, or who asks for a number, can speak of whatever the document has:
 *
 *     {"memory": {"fits": true}, "by_kind": [{"kind": "matmul", "time_s": 1}]}
 *     memory.fits = 1, by_kind.matmul.time_s = 1
 *
 * An object in a list is named by its first text, which stands before its numbers. */
#ifndef LL_SIM_CLI_FIELDS_H
#define LL_SIM_CLI_FIELDS_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"

struct ll_fields {
    struct ll_arena *arena; /* the caller's; texts live there */
    struct ll_map names;    /* a field's id is its place in values */
    double *values;         /* NaN: null */
    const char **texts;     /* the names, by id */
    uint64_t capacity, text_capacity;
};

/* Adds the fields of a document, or where `list` is not NULL those of the first object in the list of that
 * name; not those of a machine (`config`). False after complaints, or when memory ran out. */
bool ll_fields_read(struct ll_fields *fields, const char *text, size_t length, const char *list,
                    struct ll_diags *diags);

/* The value of a name; false where there is none. Pure. */
bool ll_fields_find(const struct ll_fields *fields, const char *name, double *value);

/* Frees all but the arena. */
void ll_fields_release(struct ll_fields *fields);

#endif
