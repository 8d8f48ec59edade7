/* SPDX-License-Identifier: Apache-2.0 */
/* Catalogues are text, not YAML: thousands of sizes are read each time a machine is.
 *
 *     # what stands behind this sign is for people
 *     dtype f32
 *     kernel 64x32x16                     tile m x n x k; the sizes for which it is taken follow
 *     512x64x512 512x96x512
 *     kernel 16x16x32 parts 8 rate 0.5    k in 8 parts, at half the unit's rate
 *     64x64x4096 */
#include "sim/machine/catalogue.h"

#include "sim/machine/schema_types.h"
#include "sim/machine/steps.h"
#include "tracer/base/hash.h"
#include "tracer/transform/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SIDE = 1 << 30, LARGEST_TILE = 65536, MOST_PARTS = 1024, WORD_LENGTH = 47 };

const struct ll_catalogue_size *ll_catalogue_nearest(const struct ll_catalogue *catalogue,
                                                     const struct ll_tile *product)
{
    double m = (double)product->m, n = (double)product->n, k = (double)product->k, least = INFINITY;
    const struct ll_catalogue_size *nearest = catalogue->sizes;
    for (uint64_t i = 0; i < catalogue->size_count; i++) {
        const struct ll_tile *size = &catalogue->sizes[i].size;
        double dm = (double)size->m - m, dn = (double)size->n - n, dk = (double)size->k - k;
        double distance = dm * dm + dn * dn + dk * dk;
        if (distance >= least)
            continue;
        least = distance;
        nearest = &catalogue->sizes[i];
    }
    return nearest;
}

/* --- words of the text --- */

struct scan {
    const char *at, *line; /* in a text that ends with NUL; where the line began */
    struct ll_place place;
    struct ll_diags *diags;
    char word[WORD_LENGTH + 1];
};

static void skip_blanks(struct scan *scan)
{
    while (*scan->at && strchr(" \t\r\n#", *scan->at)) {
        bool ends = *scan->at == '\n';
        scan->at += *scan->at == '#' ? strcspn(scan->at, "\n") : 1;
        scan->place.line += ends;
        scan->line = ends ? scan->at : scan->line;
    }
}

/* The next word, cut where it is too long to be right; false at the end. */
static bool next_word(struct scan *scan)
{
    skip_blanks(scan);
    size_t length = strcspn(scan->at, " \t\r\n#"), kept = length < WORD_LENGTH ? length : WORD_LENGTH;
    scan->place.column = (uint64_t)(scan->at - scan->line) + 1;
    memcpy(scan->word, scan->at, kept);
    scan->word[kept] = '\0';
    scan->at += length;
    return length > 0;
}

static bool expected(struct scan *scan, const char *what)
{
    return ll_complain(scan->diags, scan->place, "`%s`: expected %s", ll_shown_text(scan->word).text, what);
}

/* --- the list --- */

/* What is being read; arrays grow on the heap until all is there. */
struct list {
    struct ll_catalogue catalogue;
    uint64_t kernel_capacity, size_capacity;
    bool has_dtype;
};

static bool no_memory(struct scan *scan)
{
    return ll_complain(scan->diags, scan->place, "memory ran out");
}

static bool read_dtype(struct scan *scan, struct list *list)
{
    next_word(scan);
    list->catalogue.dtype = ll_dtype_find(scan->word);
    list->has_dtype = list->catalogue.dtype != LL_DTYPE_COUNT;
    return list->has_dtype || expected(scan, "a dtype");
}

static bool read_kernel(struct scan *scan, struct list *list)
{
    struct ll_catalogue *catalogue = &list->catalogue;
    struct ll_catalogue_kernel kernel = {.parts = 1, .rate = 1};
    next_word(scan);
    if (!ll_tile_parse(scan->word, LARGEST_TILE, &kernel.tile))
        return expected(scan, "a tile m x n x k with sides of 1 to 65536, as 128x128x32");
    if (!ll_grow(&catalogue->kernels, &list->kernel_capacity, catalogue->kernel_count + 1, sizeof kernel))
        return no_memory(scan);
    catalogue->kernels[catalogue->kernel_count++] = kernel;
    return true;
}

static bool read_parts(struct scan *scan, struct ll_catalogue_kernel *kernel)
{
    next_word(scan);
    bool right =
        ll_count_parse(scan->word, &kernel->parts) && kernel->parts >= 1 && kernel->parts <= MOST_PARTS;
    return right || expected(scan, "parts of k, 1 to 1024");
}

static bool read_rate(struct scan *scan, struct ll_catalogue_kernel *kernel)
{
    next_word(scan);
    bool right = ll_number_parse(scan->word, "", &kernel->rate) && kernel->rate > 0 && kernel->rate <= 1;
    return right || expected(scan, "a share of the unit's rate, above 0 and at most 1");
}

static bool read_size(struct scan *scan, struct list *list)
{
    struct ll_catalogue *catalogue = &list->catalogue;
    struct ll_catalogue_size size = {.kernel = catalogue->kernel_count - 1};
    if (!ll_tile_parse(scan->word, LARGEST_SIDE, &size.size))
        return expected(scan, "a size m x n x k, or `dtype`, `kernel`, `parts` or `rate` and a value");
    if (!ll_grow(&catalogue->sizes, &list->size_capacity, catalogue->size_count + 1, sizeof size))
        return no_memory(scan);
    catalogue->sizes[catalogue->size_count++] = size;
    return true;
}

static bool read_entry(struct scan *scan, struct list *list)
{
    struct ll_catalogue *catalogue = &list->catalogue;
    if (!strcmp(scan->word, "dtype"))
        return read_dtype(scan, list);
    if (!strcmp(scan->word, "kernel"))
        return read_kernel(scan, list);
    if (catalogue->kernel_count == 0)
        return expected(scan, "`dtype` or `kernel` before anything else");
    struct ll_catalogue_kernel *kernel = &catalogue->kernels[catalogue->kernel_count - 1];
    if (!strcmp(scan->word, "parts"))
        return read_parts(scan, kernel);
    return strcmp(scan->word, "rate") ? read_size(scan, list) : read_rate(scan, kernel);
}

/* True when all was understood and something is there. */
static bool read_list(struct scan *scan, struct list *list)
{
    bool right = true;
    while (next_word(scan))
        right = read_entry(scan, list) && right;
    if (right && (!list->has_dtype || list->catalogue.size_count == 0))
        right = ll_complain(scan->diags, (struct ll_place){.file = scan->place.file},
                            "a catalogue without %s", list->has_dtype ? "sizes" : "`dtype`");
    return right;
}

/* Moves what was read to where the machine lives. NULL when memory ran out. */
static struct ll_catalogue *settle(const struct list *list, struct ll_arena *arena)
{
    struct ll_catalogue *catalogue = ll_copy(arena, &list->catalogue, sizeof *catalogue);
    if (!catalogue)
        return NULL;
    catalogue->kernels =
        ll_copy(arena, catalogue->kernels, catalogue->kernel_count * sizeof *catalogue->kernels);
    catalogue->sizes = ll_copy(arena, catalogue->sizes, catalogue->size_count * sizeof *catalogue->sizes);
    return catalogue->kernels && catalogue->sizes ? catalogue : NULL;
}

static const struct ll_catalogue *read_file(const struct ll_node *node, struct ll_reading *reading,
                                            struct ll_arena *scratch)
{
    struct ll_machine *machine = reading->machine;
    size_t length = 0;
    const char *path = ll_file_find_data(node->text, node->place, reading->folders, scratch, reading->diags);
    const char *text = path ? ll_file_read(path, node->place, scratch, reading->diags, &length) : NULL;
    if (!text)
        return NULL;
    struct list list = {.catalogue = {.digest = ll_digest(text, length), .next = machine->catalogues}};
    struct scan scan = {
        .at = text, .line = text, .place = {.file = path, .line = 1}, .diags = reading->diags};
    struct ll_catalogue *catalogue = NULL;
    if (read_list(&scan, &list)) {
        list.catalogue.name = ll_copy_text(&machine->arena, node->text, strlen(node->text));
        catalogue = list.catalogue.name ? settle(&list, &machine->arena) : NULL;
        if (!catalogue)
            ll_no_memory(node, reading);
    }
    free(list.catalogue.kernels);
    free(list.catalogue.sizes);
    return catalogue;
}

const struct ll_catalogue *ll_catalogue_read(const struct ll_node *node, struct ll_reading *reading)
{
    struct ll_machine *machine = reading->machine;
    for (const struct ll_catalogue *known = machine->catalogues; known; known = known->next)
        if (!strcmp(known->name, node->text))
            return known;
    struct ll_arena scratch = {0};
    const struct ll_catalogue *catalogue = read_file(node, reading, &scratch);
    ll_arena_release(&scratch);
    if (catalogue)
        machine->catalogues = catalogue;
    return catalogue;
}
