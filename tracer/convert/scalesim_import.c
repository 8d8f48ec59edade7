/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim's topologies as traces: an op a layer, each behind the one before it, of one sample unless a
 * column tells the batch. A word is a byte there, so elements are int8 unless -p dtype=TYPE says otherwise.
 */
#include "tracer/convert/scalesim.h"
#include "tracer/convert/series.h"

#include <inttypes.h>

/* The filters, with the zeros that they have along what is summed over. */
static struct ll_imported filters_of(struct ll_series *series, enum ll_dtype dtype, unsigned rank,
                                     const uint64_t *dims, const struct ll_scalesim_layer *layer)
{
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    if (layer->zeros.of > 0) {
        shape.kept = (uint8_t)layer->zeros.kept;
        shape.of = (uint8_t)layer->zeros.of;
        shape.along = (uint8_t)(rank - 2);
        shape.unstructured = layer->zeros.unstructured;
    }
    return ll_import_tensor(series->import, ll_memory_name(LL_WEIGHT), &shape, LL_WEIGHT);
}

/* The rows of all samples meet the same columns. */
static const char *record_product(struct ll_series *series, enum ll_dtype dtype,
                                  const struct ll_scalesim_layer *layer)
{
    const uint64_t a[] = {layer->batch * layer->in_h, layer->in_w}, b[] = {layer->filter_w, layer->filters};
    const struct ll_imported in[] = {ll_series_tensor(series, LL_INPUT, dtype, 2, a),
                                     filters_of(series, dtype, 2, b, layer)};
    return ll_series_record(series, &(struct ll_import_op){.kind = LL_OP_MATMUL, .in = in, .in_count = 2},
                            NULL);
}

/* What of the last window lies outside. */
static int64_t outside(uint64_t in, uint64_t filter, uint64_t stride)
{
    uint64_t reach = ll_add(ll_mul(ll_scalesim_windows(in, filter, stride) - 1, stride), filter);
    return reach > in ? (int64_t)(reach - in) : 0;
}

/* A depthwise layer is as many groups of one channel. */
static const char *record_conv(struct ll_series *series, enum ll_dtype dtype,
                               const struct ll_scalesim_layer *layer)
{
    const uint64_t image[] = {layer->batch, layer->in_h, layer->in_w, layer->channels * layer->copies};
    const uint64_t filter[] = {layer->filter_h, layer->filter_w, layer->channels,
                               layer->filters * layer->copies};
    const struct ll_attr attrs[] = {
        {.key = LL_ATTR_STRIDE_H, .count = (int64_t)layer->stride_h},
        {.key = LL_ATTR_STRIDE_W, .count = (int64_t)layer->stride_w},
        {.key = LL_ATTR_PAD_BOTTOM, .count = outside(layer->in_h, layer->filter_h, layer->stride_h)},
        {.key = LL_ATTR_PAD_RIGHT, .count = outside(layer->in_w, layer->filter_w, layer->stride_w)},
        {.key = LL_ATTR_GROUPS, .count = (int64_t)layer->copies}};
    const struct ll_imported in[] = {ll_series_tensor(series, LL_INPUT, dtype, 4, image),
                                     filters_of(series, dtype, 4, filter, layer)};
    return ll_series_record(
        series,
        &(struct ll_import_op){
            .kind = LL_OP_CONV2D, .in = in, .in_count = 2, .attrs = attrs, .attr_count = 5},
        NULL);
}

/* The batch that all layers have; 1 where they differ. */
static uint64_t batch_of(const struct ll_scalesim_layer *layers, size_t count)
{
    uint64_t batch = layers[0].batch;
    for (size_t i = 1; i < count; i++)
        batch = layers[i].batch == batch ? batch : 1;
    return batch;
}

static bool begin(struct ll_import *import, uint64_t batch, enum ll_dtype *dtype)
{
    if (!ll_series_dtype(import, LL_INT8, dtype))
        return false;
    ll_facts_add(&import->facts, "model", "%s", ll_import_stem(import, "scalesim"));
    ll_facts_add(&import->facts, "mode", "infer");
    ll_facts_add(&import->facts, "batch", "%" PRIu64, batch);
    ll_facts_add(&import->facts, "source", "SCALE-Sim topology");
    return ll_import_begin(import);
}

bool ll_import_SCALESIM(struct ll_import *import)
{
    const struct ll_input_file *input = &import->inputs[0];
    struct ll_series series = {.import = import};
    size_t count = 0, before = import->diags->count;
    enum ll_dtype dtype;
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one topology");
    bool products = ll_scalesim_holds_products((const char *)input->bytes, input->size);
    const struct ll_scalesim_layer *layers =
        ll_scalesim_read_topology((const char *)input->bytes, input->size, input->path, products,
                                  &import->arena, import->diags, import->notes, &count);
    if (!layers)
        return import->diags->count > before ? false : ll_import_no_memory(import);
    if (!begin(import, batch_of(layers, count), &dtype))
        return false;
    for (size_t i = 0; i < count; i++) {
        series.scope = layers[i].name;
        const char *trouble = (products ? record_product : record_conv)(&series, dtype, &layers[i]);
        if (trouble)
            ll_complain(import->diags, (struct ll_place){.file = input->path, .line = layers[i].line},
                        "%s: %s", layers[i].name, trouble);
    }
    return import->diags->count == before;
}
