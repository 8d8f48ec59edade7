/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as SCALE-Sim's configuration and as both kinds of its topology: read, or complained about. */
#include "sim/scalesim/scalesim.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void read_topology(const char *text, size_t size, bool products,
                          const struct ll_scalesim_config *config, struct ll_arena *arena,
                          struct ll_diags *diags)
{
    size_t count = 0, complaints = diags->count;
    const struct ll_scalesim_layer *layers =
        ll_scalesim_read_topology(text, size, "fuzz.csv", products, arena, diags, NULL, &count);
    expect(!layers == (diags->count > complaints));
    for (size_t i = 0; layers && i < count; i++) {
        struct ll_scalesim_folds folds = ll_scalesim_fold(config, &layers[i]);
        bool runs = !ll_scalesim_obstacle(config, &layers[i]);
        bool near = layers[i].stride_h < 100 && layers[i].stride_w < 100; /* or padding makes huge images */
        struct ll_scalesim_result result;
        if (runs && near && folds.lines < 1000 && folds.m * folds.k < 1000 && folds.k * folds.n < 1000)
            expect(ll_scalesim_run(config, &layers[i], &result));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ll_scalesim_config small = {.rows = 4, .columns = 3, .buffer_kB = {1, 1, 1}};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_arena arena = {0};
    struct ll_scalesim_config config;
    if (!diags)
        return 0;
    bool read = ll_scalesim_read_config((const char *)data, size, "fuzz.cfg", &arena, diags, &config);
    expect(read == (diags->count == 0));
    read_topology((const char *)data, size, false, &small, &arena, diags);
    read_topology((const char *)data, size, true, &small, &arena, diags);
    ll_arena_release(&arena);
    ll_diags_release(diags);
    free(diags);
    return 0;
}
