/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as SCALE-Sim's configuration, layout and as both kinds of its topology: read, or complained
 * about. */
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
            expect(ll_scalesim_run(config, &layers[i], NULL, &result));
    }
}

/* A layout, on a buffer of its own width: small tensors run with it. */
static void read_layout(const char *text, size_t size, struct ll_arena *arena, struct ll_diags *diags)
{
    size_t complaints = diags->count;
    struct ll_scalesim_config config = {
        .rows = 4, .columns = 3, .buffer_kB = {1, 1, 1}, .user_bandwidth = true};
    const struct ll_scalesim_layer layer = {"", 1, 5, 6, 2, 3, 4, 3, 1, 1, .line = 0};
    struct ll_scalesim_result result;
    config.layout = ll_scalesim_read_layout(text, size, "layout.csv", arena, diags);
    expect(!config.layout == (diags->count > complaints));
    if (!config.layout)
        return;
    const uint64_t *filter = config.layout->filter_factor, *ifmap = config.layout->ifmap_factor;
    config.version3 = true;
    config.words_per_cycle = config.banks[0] = config.banks[1] = config.ports[0] = config.ports[1] = 1;
    config.read_words[0] = ifmap[0] * ifmap[1] * ifmap[2];
    config.read_words[1] = filter[0] * filter[1] * filter[2] * filter[3];
    config.own_layout[0] = config.own_layout[1] = true;
    if (config.read_words[0] < 1000 && config.read_words[1] < 1000) {
        expect(!ll_scalesim_layout_obstacle(&config));
        expect(ll_scalesim_run(&config, &layer, NULL, &result));
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
    bool read = ll_scalesim_read_config((const char *)data, size, "fuzz.cfg", 2, &arena, diags, &config);
    expect(read == (diags->count == 0));
    size_t complaints = diags->count;
    read = ll_scalesim_read_config((const char *)data, size, "fuzz.cfg", 3, &arena, diags, &config);
    expect(read == (diags->count == complaints));
    read_layout((const char *)data, size, &arena, diags);
    read_topology((const char *)data, size, false, &small, &arena, diags);
    read_topology((const char *)data, size, true, &small, &arena, diags);
    ll_arena_release(&arena);
    ll_diags_release(diags);
    free(diags);
    return 0;
}
