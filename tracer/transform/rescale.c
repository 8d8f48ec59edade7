/* SPDX-License-Identifier: Apache-2.0 */
/* A trace at another batch size. The first section finds out which dimensions are the batch where the trace
 * does not say it, the second scales them. */
#include "tracer/transform/rescale.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/base/str.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

/* Forms stand in the order in which they were first met, so one walk carries roles from what comes in to all
 * that is made of it: the shape rules carry them. */

struct search {
    struct ll_trace *trace;
    bool *met; /* by desc: an op has read or made it */
    uint64_t batch;
    uint64_t rows; /* samples times something, as an input has them; 0 as long as none has */
    bool found;
};

static bool has_batch(const struct ll_shape *shape)
{
    return memchr(shape->role, LL_ROLE_BATCH, shape->rank) != NULL;
}

bool ll_trace_knows_batch(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_INPUT && has_batch(&trace->descs[i].shape))
            return true;
    return false;
}

/* What comes from outside of all ops: samples, or masks and states for each of them. */
static void mark_source(struct search *search, uint32_t number)
{
    struct ll_tensor_desc *desc = &search->trace->descs[number];
    bool lasts = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER;
    for (unsigned i = 0; !lasts && i < desc->shape.rank && i < 2; i++)
        if (desc->shape.dim[i] == search->batch) {
            desc->shape.role[i] = LL_ROLE_BATCH;
            search->found = true;
            return;
        }
    uint64_t first = desc->shape.rank > 0 ? desc->shape.dim[0] : 0;
    bool rows = desc->memory == LL_INPUT && search->batch > 1 && first > 0 && first % search->batch == 0;
    if (!lasts && (rows || (first > 0 && first == search->rows))) {
        desc->shape.role[0] = LL_ROLE_BATCH;
        search->rows = first;
        search->found = true;
    }
}

/* Whether nothing that the op reads could tell what its results are. */
static bool begins(const struct ll_op_signature *signature)
{
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        if (signature->view.in[i].rank > 0)
            return false;
    return true;
}

static bool see_inputs(struct search *search, struct ll_op_signature *signature)
{
    struct ll_shape *in = ll_alloc(&search->trace->arena, signature->view.input_count, sizeof *in);
    for (uint32_t i = 0; in && i < signature->view.input_count; i++) {
        if (!search->met[signature->inputs[i]])
            mark_source(search, signature->inputs[i]);
        search->met[signature->inputs[i]] = true;
        in[i] = search->trace->descs[signature->inputs[i]].shape;
    }
    if (in)
        signature->view.in = in;
    return in != NULL;
}

/* The results' shapes with the roles that the op's rule carries over. */
static bool infer_results(struct search *search, struct ll_op_signature *signature, struct ll_shape **results)
{
    struct ll_op_view view = signature->view;
    uint32_t count = view.output_count;
    *results =
        ll_alloc(&search->trace->arena, count > LL_MAX_OUTPUTS ? count : LL_MAX_OUTPUTS, sizeof **results);
    if (!*results)
        return false;
    for (uint32_t i = 0; i < count; i++)
        (*results)[i] = search->trace->descs[signature->outputs[i]].shape;
    view.out = *results;
    if (view.kind != LL_OP_NONE)
        (void)ll_op_infer(&view); /* which a recorded form passes */
    return true;
}

/* Where rows became dimensions again, the first of them is taken for the batch; steps of time may come first.
 */
static void put_right(const struct search *search, const struct ll_op_signature *signature,
                      struct ll_shape *result)
{
    for (unsigned i = 0; i + 1 < result->rank && signature->view.in[0].rank < result->rank; i++)
        if (result->role[i] == LL_ROLE_BATCH && result->dim[i] != search->batch &&
            result->dim[i + 1] == search->batch) {
            result->role[i] = LL_ROLE_PLAIN;
            result->role[i + 1] = LL_ROLE_BATCH;
        }
}

static bool see_results(struct search *search, struct ll_op_signature *signature)
{
    struct ll_shape *results;
    if (!infer_results(search, signature, &results))
        return false;
    if (signature->view.kind == LL_OP_RESHAPE)
        put_right(search, signature, &results[0]);
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        uint32_t number = signature->outputs[i];
        struct ll_shape *shape = &search->trace->descs[number].shape;
        for (unsigned k = 0; k < shape->rank; k++)
            if (shape->role[k] == LL_ROLE_PLAIN)
                shape->role[k] = results[i].role[k];
        if (begins(signature) && !search->met[number])
            mark_source(search, number);
        search->met[number] = true;
        results[i] = *shape;
    }
    signature->view.out = results;
    return true;
}

static bool note_batch(struct ll_trace *trace, uint64_t batch)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, batch);
    return ll_trace_note(trace, "batch", text);
}

bool ll_trace_find_batch(struct ll_trace *trace, uint64_t batch, const char **trouble)
{
    assert(batch > 0);
    struct search search = {.trace = trace, .batch = batch};
    search.met = calloc(trace->desc_count + 1, sizeof *search.met);
    bool right = search.met != NULL;
    for (uint64_t i = 0; i < trace->signature_count && right; i++)
        right = see_inputs(&search, &trace->signatures[i]) && see_results(&search, &trace->signatures[i]);
    free(search.met);
    *trouble = right && !search.found ? "no input has a dimension as long as the batch" : NULL;
    return right && search.found && note_batch(trace, batch);
}

/* Descs and forms are tables in which each look and each op stands once, in the order in which they were
 * first met, so one walk over the signatures scales a trace: what no op makes goes by its roles, what an op
 * makes follows from what it reads by the op table. Where the table takes a shape as given (a view, a
 * gradient's target), an extent becomes what the same extent of an input has become, or goes by its role.
 *
 * An extent need not be a multiple of the batch: 512 samples of classes behind the labels of a batch of 64
 * are 576, and with a batch of 32 they are 544. So an extent is a factor of the batch and a fixed rest. Of
 * places that experts have for words, which are rounded up, a trace may say how to count them anew. */

/* What an extent was and what it is now. */
struct extent {
    uint64_t was, is;
};

enum { MOST_ODD = 64 };

struct rescale {
    struct ll_trace *trace; /* the copy; its descs and forms are new as far as `known` and the walk are */
    const struct ll_tensor_desc *was; /* the descs of before */
    bool *known;                      /* by desc: it is what it will be */
    uint64_t from, to;                /* batches */
    struct extent odd[MOST_ODD];      /* those met so far that have a fixed part */
    unsigned odd_count;
    bool found; /* something went with the batch */
    const char *trouble;
};

static const char no_multiple[] =
    "an extent that goes with the batch is no multiple of it, or becomes too large";

uint64_t ll_trace_batch(const struct ll_trace *trace)
{
    const char *text = ll_trace_fact(trace, "batch");
    char *end = NULL;
    errno = 0;
    unsigned long long batch = text && *text != '-' ? strtoull(text, &end, 10) : 0;
    return errno == 0 && end && end != text && *end == '\0' ? batch : 0;
}

static bool fail(struct rescale *r, const char *trouble)
{
    r->trouble = trouble;
    return false;
}

/* LL_NO_FIT where the extent is no multiple of the batch, or past 64 bits. */
static uint64_t in_proportion(const struct rescale *r, uint64_t extent)
{
    return extent % r->from ? LL_NO_FIT : ll_mul(extent / r->from, r->to);
}

/* What an extent becomes by its role alone. */
static bool scale_extent(struct rescale *r, struct ll_shape *shape, unsigned at)
{
    if (shape->role[at] != LL_ROLE_BATCH)
        return true;
    shape->dim[at] = in_proportion(r, shape->dim[at]);
    r->found = true;
    return ll_fits(shape->dim[at]) || fail(r, no_multiple);
}

/* What no op has made before its first reader. */
static bool settle_source(struct rescale *r, uint32_t desc)
{
    struct ll_shape *shape = &r->trace->descs[desc].shape;
    for (unsigned i = 0; !r->known[desc] && i < shape->rank; i++)
        if (!scale_extent(r, shape, i))
            return false;
    r->known[desc] = true;
    return true;
}

/* Places of each expert, which may be as many as there are words and still become others. */
static bool are_places(const struct ll_shape *shape, unsigned at)
{
    return at == 1 && shape->role[0] == LL_ROLE_EXPERTS;
}

/* What an extent of a result that goes with the batch has become of one of the op's inputs; 0 when none has
 * it. */
static uint64_t same_of_inputs(const struct rescale *r, const struct ll_op_signature *signature,
                               const struct ll_shape *result, unsigned at)
{
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        const struct ll_shape *was = &r->was[signature->inputs[i]].shape, *is = &signature->view.in[i];
        for (unsigned k = 0; k < was->rank; k++)
            if (was->dim[k] == result->dim[at] && was->role[k] == LL_ROLE_BATCH &&
                are_places(was, k) == are_places(result, at))
                return is->dim[k];
    }
    return 0;
}

static uint64_t same_of_odd(const struct rescale *r, uint64_t extent)
{
    for (unsigned i = 0; i < r->odd_count; i++)
        if (r->odd[i].was == extent)
            return r->odd[i].is;
    return 0;
}

static void note_odd(struct rescale *r, uint64_t was, uint64_t is)
{
    if (in_proportion(r, was) != is && !same_of_odd(r, was) && r->odd_count < MOST_ODD)
        r->odd[r->odd_count++] = (struct extent){was, is};
}

/* What a result would be if the op table took it as given. Where it does not, it says itself what it is, and
 * an extent that is no multiple is none of our troubles. */
static void suppose_result(struct rescale *r, const struct ll_op_signature *signature, struct ll_shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++) {
        if (shape->role[i] != LL_ROLE_BATCH)
            continue;
        uint64_t same = same_of_inputs(r, signature, shape, i);
        if (!same)
            same = same_of_odd(r, shape->dim[i]);
        if (!same)
            same = in_proportion(r, shape->dim[i]);
        shape->dim[i] = ll_fits(same) ? same : shape->dim[i];
    }
}

/* Where something was rounded, a view's batch is what the elements leave. */
static void balance_view(const struct ll_op_signature *signature, struct ll_shape *shape)
{
    uint64_t others = 1, elements = ll_elements(&signature->view.in[0]);
    unsigned batch = shape->rank;
    for (unsigned i = shape->rank; i-- > 0;)
        if (shape->role[i] == LL_ROLE_BATCH)
            batch = i;
    for (unsigned i = 0; i < shape->rank; i++)
        others = i == batch ? others : ll_mul(others, shape->dim[i]);
    if (batch < shape->rank && ll_fits(elements) && others > 0 && elements % others == 0)
        shape->dim[batch] = elements / others;
}

/* A stretch of a dimension that goes with the batch: the part of it that does, the rest, all or nothing.
 * LL_NO_FIT where it is none of these, or where the two parts cannot be told apart. */
static uint64_t stretch_of(const struct rescale *r, uint64_t stretch, struct extent whole)
{
    uint64_t grown = whole.is > whole.was ? whole.is - whole.was : whole.was - whole.is;
    uint64_t part = ll_mul(grown / (r->to > r->from ? r->to - r->from : r->from - r->to), r->from);
    uint64_t rest = whole.was - part;
    if (rest == part && stretch == part)
        return LL_NO_FIT;
    if (stretch == rest)
        return rest;
    return stretch == whole.was ? whole.is : in_proportion(r, stretch);
}

/* What padding makes. The gradient of a slice is padded to what the slice was of, which was met before; the
 * slice itself may be the part that does not go with the batch. */
static struct extent padded(const struct rescale *r, const struct ll_op_view *op, struct extent inside)
{
    uint64_t before = (uint64_t)ll_attr_count(op, LL_ATTR_BEFORE, 0);
    struct extent whole = {.was = inside.was};
    whole.was = ll_add(whole.was, ll_add(before, (uint64_t)ll_attr_count(op, LL_ATTR_AFTER, 0)));
    whole.is = same_of_odd(r, whole.was);
    if (whole.is == 0)
        whole.is = inside.was != inside.is ? in_proportion(r, whole.was) : whole.was;
    return whole;
}

/* The dimension that a slice is of or that padding makes, along which its attributes count. */
static struct extent cut_extent(const struct rescale *r, const struct ll_op_signature *signature)
{
    const struct ll_op_view *op = &signature->view;
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0);
    if ((op->kind != LL_OP_PAD && op->kind != LL_OP_SLICE) || axis < 0 || axis >= op->in[0].rank)
        return (struct extent){0};
    struct extent cut = {r->was[signature->inputs[0]].shape.dim[axis], op->in[0].dim[axis]};
    return op->kind == LL_OP_PAD ? padded(r, op, cut) : cut;
}

static bool counts_along_axis(uint64_t key)
{
    return key == LL_ATTR_BEGIN || key == LL_ATTR_SIZE || key == LL_ATTR_BEFORE || key == LL_ATTR_AFTER;
}

/* The arithmetic of an op that nobody knows more about goes with what it reads. */
static bool arithmetic_grows(const struct rescale *r, const struct ll_op_signature *signature)
{
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        if (memcmp(r->was[signature->inputs[i]].shape.dim, signature->view.in[i].dim,
                   sizeof signature->view.in[i].dim) != 0)
            return true;
    return false;
}

/* What a share of the choices comes to, of which the experts have so many percent each. */
static uint64_t places_of(const struct ll_op_view *op, const struct ll_shape *choices)
{
    uint64_t experts = (uint64_t)ll_attr_count(op, LL_ATTR_CLASSES, 1);
    uint64_t percent = (uint64_t)ll_attr_count(op, LL_ATTR_CAPACITY, 0);
    return ll_ceil_div(ll_mul(ll_elements(choices), percent), ll_mul(100, ll_max(experts, 1)));
}

/* Places for words. Where nothing tells how they were counted they go with the batch, roundings and all. */
static uint64_t scale_places(const struct rescale *r, const struct ll_op_signature *signature,
                             uint64_t places)
{
    if (signature->view.input_count > 0 &&
        places == places_of(&signature->view, &r->was[signature->inputs[0]].shape))
        return places_of(&signature->view, &signature->view.in[0]);
    return ll_ceil_div(ll_mul(places, r->to), r->from);
}

static bool scale_attribute(struct rescale *r, const struct ll_op_signature *signature, struct ll_attr *attr)
{
    const struct extent cut = cut_extent(r, signature);
    uint64_t count = (uint64_t)attr->count;
    if (attr->key == LL_ATTR_FLOPS && arithmetic_grows(r, signature))
        count = in_proportion(r, count);
    else if (signature->view.kind == LL_OP_ROUTE && attr->key == LL_ATTR_SIZE)
        count = scale_places(r, signature, count);
    else if (attr->key == LL_ATTR_FILLED)
        count = in_proportion(r, count);
    else if (counts_along_axis(attr->key) && cut.is != cut.was)
        count = stretch_of(r, count, cut);
    attr->count = (int64_t)count;
    return count <= INT64_MAX || fail(r, no_multiple);
}

static bool scale_attributes(struct rescale *r, struct ll_op_signature *signature)
{
    struct ll_attr *attrs =
        ll_copy(&r->trace->arena, signature->view.attrs, signature->view.attr_count * sizeof *attrs);
    bool right = attrs != NULL;
    for (uint32_t i = 0; right && i < signature->view.attr_count; i++)
        right = ll_attr_is_real((enum ll_attr_key)attrs[i].key) || scale_attribute(r, signature, &attrs[i]);
    signature->view.attrs = attrs;
    return right;
}

static bool settle_inputs(struct rescale *r, struct ll_op_signature *signature)
{
    struct ll_shape *in = ll_alloc(&r->trace->arena, signature->view.input_count, sizeof *in);
    for (uint32_t i = 0; in && i < signature->view.input_count; i++) {
        if (!settle_source(r, signature->inputs[i]))
            return false;
        in[i] = r->trace->descs[signature->inputs[i]].shape;
    }
    signature->view.in = in;
    return in != NULL;
}

/* The look of a result, which other ops may have made as well. Its type is the one it had: a product may
 * write a wider one than it reads, which the op table does not say. */
static bool settle_result(struct rescale *r, uint32_t desc, struct ll_shape *result)
{
    struct ll_tensor_desc *look = &r->trace->descs[desc];
    memcpy(result->role, look->shape.role, sizeof result->role);
    result->dtype = look->shape.dtype;
    r->found |= memcmp(result->dim, r->was[desc].shape.dim, sizeof result->dim) != 0;
    if (r->known[desc] && memcmp(result->dim, look->shape.dim, sizeof result->dim) != 0)
        return fail(r, "tensors that look the same at the old batch would not at the new one");
    for (unsigned i = 0; i < result->rank; i++)
        if (result->role[i] == LL_ROLE_BATCH && !are_places(result, i))
            note_odd(r, r->was[desc].shape.dim[i], result->dim[i]);
    look->shape = *result;
    r->known[desc] = true;
    return true;
}

static bool settle_results(struct rescale *r, struct ll_op_signature *signature)
{
    struct ll_op_view *view = &signature->view;
    uint32_t count = view->output_count;
    view->out =
        ll_alloc(&r->trace->arena, count > LL_MAX_OUTPUTS ? count : LL_MAX_OUTPUTS, sizeof *view->out);
    if (!view->out)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        view->out[i] = r->was[signature->outputs[i]].shape;
        suppose_result(r, signature, &view->out[i]);
    }
    if (view->kind == LL_OP_RESHAPE)
        balance_view(signature, &view->out[0]);
    const char *trouble = view->kind == LL_OP_NONE ? NULL : ll_op_infer(view);
    if (trouble || view->output_count != count)
        return fail(r, trouble ? trouble : "an op takes the batch apart, sample by sample");
    for (uint32_t i = 0; i < count; i++)
        if (!settle_result(r, signature->outputs[i], &view->out[i]))
            return false;
    return true;
}

static bool scale_signature(struct rescale *r, struct ll_op_signature *signature)
{
    struct ll_signature_counts counts;
    if (!settle_inputs(r, signature) || !scale_attributes(r, signature) || !settle_results(r, signature))
        return false;
    if (signature->view.kind == LL_OP_NONE)
        return fail(r, "it holds an op that this program does not know");
    const char *trouble = ll_signature_count(&signature->view, &counts);
    if (trouble || !ll_fits(counts.flops) || !ll_fits(counts.bytes_read) || !ll_fits(counts.bytes_written))
        return fail(r, trouble ? trouble : "a size does not fit in 64 bits");
    signature->flops = counts.flops;
    signature->bytes_read = counts.bytes_read;
    signature->bytes_written = counts.bytes_written;
    return true;
}

static bool scale_signatures(struct rescale *r)
{
    for (uint64_t i = 0; i < r->trace->signature_count; i++)
        if (!scale_signature(r, &r->trace->signatures[i]))
            return false;
    return r->found || fail(r, "no dimension of this trace is known to be the batch");
}

static bool write_batch_fact(struct ll_trace *trace, uint64_t batch)
{
    for (uint64_t i = 0; i < trace->fact_count; i++)
        if (strcmp(trace->facts[i].key, "batch") == 0)
            trace->facts[i].value = ll_format(&trace->arena, "%llu", (unsigned long long)batch);
    return ll_trace_fact(trace, "batch") != NULL;
}

/* What was measured was measured at another batch. What a program did outside of ops is assumed not to depend
 * on it. */
static void forget_times(struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->op_count; i++) {
        trace->ops[i].start_ns = 0;
        if (!ll_op_waits(trace->signatures[trace->ops[i].signature].view.kind))
            trace->ops[i].duration_ns = 0;
    }
    for (uint64_t i = 0; i < trace->step_count; i++)
        trace->steps[i].start_ns = trace->steps[i].wall_ns = trace->steps[i].recording_ns = 0;
}

struct ll_trace *ll_trace_rescale(const struct ll_trace *trace, uint64_t batch, const char **trouble)
{
    assert(batch > 0);
    struct rescale r = {.was = trace->descs, .from = ll_trace_batch(trace), .to = batch};
    if (r.from == 0)
        r.trouble = "its header does not say what the batch was";
    r.trace = r.trouble ? NULL : ll_trace_copy(trace);
    r.known = calloc(trace->desc_count + 1, sizeof *r.known);
    bool right =
        r.trace && r.known && write_batch_fact(r.trace, batch) && (r.from == r.to || scale_signatures(&r));
    *trouble = r.trouble;
    free(r.known);
    if (right && r.from != r.to)
        forget_times(r.trace);
    if (right)
        return r.trace;
    ll_trace_free(r.trace);
    return NULL;
}

/* Two changes that scale a trace in place: the recorded time of gaps and opaque calls, and the weights that
 * pruning leaves. */

bool ll_gaps_parse(const char *text, double *factor)
{
    static const double most = 1e6;
    char *end;
    *factor = strcmp(text, "keep") == 0 ? 1 : 0;
    if (strcmp(text, "keep") == 0 || strcmp(text, "drop") == 0)
        return true;
    *factor = ll_strtod(text, &end);
    return end != text && *end == '\0' && *factor >= 0 && *factor <= most;
}

bool ll_gaps_scale(struct ll_trace *trace, double factor)
{
    assert(factor >= 0 && factor <= 1e6);
    static const double most_ns = 9e18; /* fits, as long as centuries */
    char number[32];
    if (factor == 1)
        return true;
    for (uint64_t i = 0; i < trace->op_count; i++)
        if (ll_op_waits(trace->signatures[trace->ops[i].signature].view.kind))
            trace->ops[i].duration_ns =
                (uint64_t)llround(fmin((double)trace->ops[i].duration_ns * factor, most_ns));
    ll_number_text(factor, number);
    const char *said = ll_copy_text(&trace->arena, number, strlen(number));
    return said && ll_trace_note(trace, "gaps", said);
}
