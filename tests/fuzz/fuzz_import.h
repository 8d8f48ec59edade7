/* SPDX-License-Identifier: Apache-2.0 */
/* What every importer keeps to whatever it is given: it has opened a trace, or it has said why not. */
#ifndef LL_TESTS_FUZZ_IMPORT_H
#define LL_TESTS_FUZZ_IMPORT_H

#include "tracer/convert/convert.h"

#include <stdlib.h>

/* With the choice key=2, which a key of NULL leaves away. */
static inline void import_bytes_with(ll_importer *importer, const uint8_t *data, size_t size,
                                     bool allow_opaque, const char *key)
{
    struct ll_choice choice = {.key = key, .value = "2"};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    const struct ll_input_file file = {.path = "fuzz", .bytes = data, .size = size};
    struct ll_import import = {.inputs = &file,
                               .input_count = 1,
                               .choices = &choice,
                               .choice_count = key != NULL,
                               .allow_opaque = allow_opaque,
                               .output = "/dev/null",
                               .diags = diags};
    if (!diags)
        return;
    bool done = ll_import_run(importer, &import);
    if (done != (diags->count == 0 && import.status == LL_OK))
        abort();
    ll_diags_release(diags);
    free(diags);
}

static inline void import_bytes(ll_importer *importer, const uint8_t *data, size_t size, bool allow_opaque)
{
    import_bytes_with(importer, data, size, allow_opaque, NULL);
}

/* The first byte chooses whether operators without a rule are kept. */
static inline void import_chosen(ll_importer *importer, const uint8_t *data, size_t size, const char *key)
{
    import_bytes_with(importer, data + (size > 0), size - (size > 0), size > 0 && data[0] & 1, key);
}

#endif
