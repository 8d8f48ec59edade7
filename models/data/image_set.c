/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/image_set.h"

#include "models/data/part.h"

#include <inttypes.h>

bool ll_image_set_join(struct ll_image_set *set, const struct ll_idx *images, const struct ll_idx *labels,
                       const char *name, struct ll_diags *diags)
{
    struct ll_place place = {.file = name};
    bool flat = images->rank == 3;
    *set = (struct ll_image_set){name,
                                 images->bytes,
                                 labels->bytes,
                                 images->dim[0],
                                 images->dim[1],
                                 images->dim[2],
                                 flat ? 1 : images->dim[3]};
    if (images->rank < 3)
        return ll_complain(diags, place, "images of %u dimensions; expected 3 (images, height, width) or 4",
                           images->rank);
    if (set->height == 0 || set->width == 0 || set->channels == 0)
        return ll_complain(diags, place, "images without pixels");
    if (set->count < LL_ONE_HELD_BACK_OF)
        return ll_complain(diags, place, "%" PRIu64 " images; expected at least %d, so that one is held back",
                           set->count, LL_ONE_HELD_BACK_OF);
    if (labels->rank != 1 || labels->dim[0] != set->count)
        return ll_complain(diags, place,
                           "labels of %u dimensions, %" PRIu64 " in the first; expected %" PRIu64
                           " labels, one for each image",
                           labels->rank, labels->dim[0], set->count);
    return true;
}

bool ll_image_set_read(struct ll_image_set *set, const char *folder, struct ll_arena *arena,
                       struct ll_diags *diags)
{
    static const char *const image_names[] = {"images.idx", "train-images-idx3-ubyte",
                                              "train-images.idx3-ubyte", NULL};
    static const char *const label_names[] = {"labels.idx", "train-labels-idx1-ubyte",
                                              "train-labels.idx1-ubyte", NULL};
    struct ll_idx images, labels;
    bool good = ll_idx_load(folder, image_names, arena, &images, diags);
    good &= ll_idx_load(folder, label_names, arena, &labels, diags);
    return good && ll_image_set_join(set, &images, &labels, folder, diags);
}

static bool check_labels(const struct ll_image_set *set, uint64_t classes, struct ll_diags *diags)
{
    for (uint64_t i = 0; i < set->count; i++)
        if (set->labels[i] >= classes)
            return ll_complain(diags, (struct ll_place){.file = set->name},
                               "image %" PRIu64 ", counted from 0, is of class %u; expected 0 to %" PRIu64, i,
                               (unsigned)set->labels[i], classes - 1);
    return true;
}

bool ll_image_set_suits(const struct ll_image_set *set, const struct ll_image_need *need,
                        struct ll_diags *diags)
{
    struct ll_place place = {.file = set->name};
    bool good = check_labels(set, need->classes, diags);
    if (set->height < need->height || set->width < need->width)
        good = ll_complain(diags, place,
                           "images of %" PRIu64 " x %" PRIu64 " pixels; expected %" PRIu64 " x %" PRIu64
                           " or larger, which are cropped",
                           set->height, set->width, need->height, need->width);
    if (set->channels != 1 && set->channels != need->channels)
        good = ll_complain(diags, place, "images of %" PRIu64 " channels; expected %" PRIu64 ", or 1: grey",
                           set->channels, need->channels);
    return good;
}

const uint8_t *ll_image_set_at(const struct ll_image_set *set, uint64_t image)
{
    return set->pixels + image * set->height * set->width * set->channels;
}
