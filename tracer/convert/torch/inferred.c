/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of PyTorch does not say: its steps (by repetition or by marks), which tensors the steps of a
 * profile share, and the numbers that older profiles leave out. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/convert/torch/torch.h"

/* Steps that nothing marks are what the calls repeat from the first to the last, but equal layers of one
 * network repeat as well. An execution graph tells them apart: a step reads the weights of the one before
 * it, a layer has its own. A profile knows no tensors; there, what makes as many elements as it begins
 * with may be a layer whose result the next one reads, and all is one step. */

static uint64_t hash_shape(uint64_t hash, const struct ll_shape *shape)
{
    return ll_hash_bytes(hash, shape->dim, shape->rank * sizeof *shape->dim);
}

/* What a recorded operator looks like: its name and the shapes that it takes. */
static uint64_t look_of(const struct ll_torch_node *node)
{
    uint64_t look = ll_hash_text(LL_HASH_START, node->name);
    for (uint32_t i = 0; i < node->input_count; i++)
        for (uint32_t t = 0; node->inputs[i].kind == LL_TORCH_TENSORS && t < node->inputs[i].count; t++)
            look = hash_shape(look, &node->inputs[i].tensors[t].shape);
    return look;
}

static bool is_weight(const struct ll_torch_leaf *leaf, uint32_t argument)
{
    return argument < 32 && leaf->row->weights >> argument & 1;
}

/* The first tensor of an argument; NULL when it is none. */
static struct ll_torch_tensor *tensor_of(const struct ll_torch_leaf *leaf, uint32_t argument)
{
    const struct ll_torch_value *value =
        argument < leaf->node->input_count ? &leaf->node->inputs[argument] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && value->count > 0 && !value->tensors->absent;
    return there ? value->tensors : NULL;
}

/* Whether the second stretch reads a weight of the first one. */
static bool share_weights(const struct ll_torch_leaf *leaves, uint64_t period)
{
    for (uint64_t i = 0; i < period; i++)
        for (uint32_t a = 0; a < leaves[i].node->input_count; a++) {
            const struct ll_torch_tensor *first = tensor_of(&leaves[i], a),
                                         *second = tensor_of(&leaves[i + period], a);
            if (is_weight(&leaves[i], a) && first && second && first->storage == second->storage)
                return true;
        }
    return false;
}

static bool computes(const struct ll_torch_leaf *leaf)
{
    bool any = false;
    for (uint32_t a = 0; !any && a < leaf->node->input_count; a++)
        any = tensor_of(leaf, a) != NULL;
    return any && leaf->row->kind != LL_OP_SEEN_AS;
}

/* So many elements a call makes, by what it takes: a product those of its outer dimensions, a convolution its
 * image's with other channels, which is right where nothing else changes; all else as many as it reads. */
static uint64_t elements_made(const struct ll_torch_leaf *leaf)
{
    bool product = leaf->row->kind == LL_OP_MATMUL || leaf->row->kind == LL_OP_BATCH_MATMUL;
    bool turned = leaf->row->word == LL_ATEN_LINEAR, conv = leaf->row->word == LL_ATEN_CONVOLUTION;
    uint32_t x = leaf->row->word == LL_ATEN_ADDMM;
    const struct ll_torch_tensor *a = tensor_of(leaf, x), *b = tensor_of(leaf, x + 1);
    uint64_t most = 0;
    if ((product || conv || x) && a && b && a->shape.rank >= 2 && b->shape.rank >= 2) {
        uint64_t inner = a->shape.dim[conv ? 1 : a->shape.rank - 1u];
        uint64_t outer = b->shape.dim[conv || turned ? 0 : b->shape.rank - 1u];
        return ll_mul(ll_elements(&a->shape) / ll_max(inner, 1), outer);
    }
    for (uint32_t i = 0; i < leaf->node->input_count; i++)
        if (tensor_of(leaf, i))
            most = ll_max(most, ll_elements(&tensor_of(leaf, i)->shape));
    return most;
}

/* Whether what the stretch makes could be what it begins with. */
static bool may_feed_itself(const struct ll_torch_leaf *leaves, uint64_t period)
{
    uint64_t first = 0, last = period;
    while (first < period && !computes(&leaves[first]))
        first++;
    while (last > first && !computes(&leaves[last - 1]))
        last--;
    if (first == last)
        return true;
    uint64_t made = elements_made(&leaves[last - 1]);
    for (uint32_t a = 0; a < leaves[first].node->input_count; a++) {
        const struct ll_torch_tensor *read = tensor_of(&leaves[first], a);
        if (read && !is_weight(&leaves[first], a) && ll_elements(&read->shape) == made)
            return true;
    }
    return false;
}

/* Whether it goes forwards and backwards, which no layer does by itself. */
static bool goes_both_ways(const struct ll_torch_leaf *leaves, uint64_t period)
{
    bool forward = false, backward = false;
    for (uint64_t i = 0; i < period; i++) {
        forward = forward || leaves[i].phase == LL_PHASE_FORWARD;
        backward = backward || leaves[i].phase == LL_PHASE_BACKWARD;
    }
    return forward && backward;
}

bool ll_torch_period(struct ll_import *import, const struct ll_torch_leaf *leaves, uint64_t count,
                     enum ll_torch_file file, uint64_t *period)
{
    assert(leaves || count == 0);
    uint64_t *looks = calloc(count + 1, sizeof *looks);
    bool chosen = false;
    if (!looks)
        return ll_import_no_memory(import);
    for (uint64_t i = 0; i < count; i++)
        looks[i] = look_of(leaves[i].node);
    bool right = ll_period_of_steps(import, looks, count, period, &chosen);
    free(looks);
    if (!right || chosen || *period == count)
        return right;
    bool steps = file == LL_TORCH_GRAPH
                     ? share_weights(leaves, *period)
                     : goes_both_ways(leaves, *period) || !may_feed_itself(leaves, *period);
    *period = steps ? *period : count;
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct ll_torch_mark *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Marks in order; those of one name, which stand on several threads, are one. */
static bool list_marks(const struct ll_torch_nodes *nodes, struct ll_torch_marks *marks)
{
    for (uint64_t i = 0; i < nodes->count; i++) {
        const struct ll_torch_node *node = &nodes->at[i];
        marks->timed = marks->timed || node->end_ns > 0;
        if (strncmp(node->name, "ProfilerStep", strlen("ProfilerStep")) != 0)
            continue;
        if (!ll_grow(&marks->at, &marks->capacity, marks->count + 1, sizeof *marks->at))
            return false;
        marks->at[marks->count++] = (struct ll_torch_mark){.begin = node->begin_ns,
                                                           .end = node->end_ns,
                                                           .place = i,
                                                           .name = node->name,
                                                           .look = LL_HASH_START};
    }
    uint64_t kept = 0;
    if (marks->count > 1)
        qsort(marks->at, marks->count, sizeof *marks->at, by_begin);
    for (uint64_t i = 0; i < marks->count; i++) {
        struct ll_torch_mark *last = kept ? &marks->at[kept - 1] : NULL;
        if (last && strchr(last->name, '#') && strcmp(last->name, marks->at[i].name) == 0)
            last->end = ll_max(last->end, marks->at[i].end);
        else
            marks->at[kept++] = marks->at[i];
    }
    marks->count = kept;
    return true;
}

/* The last mark that begins no later. */
static uint64_t mark_before(const struct ll_torch_marks *marks, const struct ll_torch_node *node,
                            uint64_t place)
{
    uint64_t low = 0, high = marks->count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        const struct ll_torch_mark *mark = &marks->at[middle];
        bool before = marks->timed ? mark->begin <= node->begin_ns : mark->place <= place;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low ? low - 1 : LL_TORCH_NO_STEP;
}

uint64_t ll_torch_step_of(const struct ll_torch_marks *marks, const struct ll_torch_node *node,
                          uint64_t place)
{
    uint64_t at = mark_before(marks, node, place);
    if (at == LL_TORCH_NO_STEP || !marks->at[at].kept ||
        (marks->spanning && node->begin_ns >= marks->at[at].end))
        return LL_TORCH_NO_STEP;
    return at;
}

/* Steps by what they call, in the order of the leaves: looks of step s stand at first[s] to first[s + 1]. */
struct sequences {
    uint64_t *looks, *first;
};

/* Whether the shorter of two runs of calls is the end, or the beginning, of the longer. */
static bool is_part(const struct sequences *s, uint64_t part, uint64_t whole, bool beginning)
{
    uint64_t short_count = s->first[part + 1] - s->first[part],
             long_count = s->first[whole + 1] - s->first[whole];
    uint64_t skipped = beginning ? 0 : long_count - short_count;
    return short_count < long_count && memcmp(s->looks + s->first[part], s->looks + s->first[whole] + skipped,
                                              short_count * sizeof *s->looks) == 0;
}

static bool is_alone(const struct ll_torch_marks *marks, uint64_t step)
{
    for (uint64_t i = 0; i < marks->count; i++)
        if (i != step && marks->at[i].kept && marks->at[i].look == marks->at[step].look)
            return false;
    return true;
}

/* The look that most steps have; of equally many the one that comes first. */
static const struct ll_torch_mark *usual_step(const struct ll_torch_marks *marks)
{
    const struct ll_torch_mark *usual = NULL;
    uint64_t most = 0;
    for (uint64_t i = 0; i < marks->count; i++) {
        uint64_t alike = 0;
        for (uint64_t j = 0; marks->at[i].kept && j < marks->count; j++)
            alike += marks->at[j].kept && marks->at[j].look == marks->at[i].look;
        if (alike > most) {
            most = alike;
            usual = &marks->at[i];
        }
    }
    return usual;
}

/* Says what is left out and which steps differ. */
static void describe(const struct ll_torch_marks *marks, uint64_t outside, const char *partial,
                     struct ll_str *line)
{
    enum { NAMED = 4 };
    const struct ll_torch_mark *usual = usual_step(marks);
    uint64_t differing = 0;
    if (outside)
        ll_str_addf(line, "%" PRIu64 " call%s outside of the marked steps %s left out", outside,
                    outside == 1 ? "" : "s", outside == 1 ? "is" : "are");
    if (partial)
        ll_str_addf(line, "%s%s left out: recorded in part", line->length ? "; " : "", partial);
    for (uint64_t i = 0; usual && i < marks->count; i++) {
        const struct ll_torch_mark *mark = &marks->at[i];
        if (!mark->kept || mark->look == usual->look || differing++ >= NAMED)
            continue;
        ll_str_addf(line, "%s%s (%" PRIu64 " call%s%s)",
                    differing > 1  ? ", "
                    : line->length ? "; unlike the other steps: "
                                   : "unlike the other steps: ",
                    mark->name, mark->calls, mark->calls == 1 ? "" : "s",
                    mark->calls == usual->calls ? ", others or of other shapes" : "");
    }
    if (differing > NAMED)
        ll_str_addf(line, " and %" PRIu64 " more", differing - NAMED);
    if (differing)
        ll_str_addf(line, "; %s has %" PRIu64 " call%s", usual->name, usual->calls,
                    usual->calls == 1 ? "" : "s");
}

/* Which of the marks are steps. */
static void choose_steps(struct ll_torch_marks *marks, const struct ll_torch_leaf *leaves, uint64_t count,
                         const struct sequences *s, struct ll_str *line)
{
    struct ll_str partial = {0};
    uint64_t outside = 0, first = LL_TORCH_NO_STEP, last = 0;
    for (uint64_t i = 0; i < count; i++)
        outside += ll_torch_step_of(marks, leaves[i].node, leaves[i].place) == LL_TORCH_NO_STEP;
    for (uint64_t i = 0; i < marks->count; i++) {
        marks->at[i].kept = marks->at[i].calls > 0;
        marks->step_count += marks->at[i].kept;
        first = marks->at[i].kept && first == LL_TORCH_NO_STEP ? i : first;
        last = marks->at[i].kept ? i : last;
    }
    uint64_t second = first, next_to_last = last;
    for (uint64_t i = 0; i < marks->count; i++) {
        second = marks->at[i].kept && i > first && second == first ? i : second;
        next_to_last = marks->at[i].kept && i < last ? i : next_to_last;
    }
    bool several = marks->step_count > 1;
    bool head = several && is_part(s, first, second, false) && is_alone(marks, first);
    bool tail = several && !(head && next_to_last == first) && is_part(s, last, next_to_last, true) &&
                is_alone(marks, last);
    if (head || tail) {
        marks->at[head ? first : last].kept = false;
        marks->at[tail ? last : first].kept = false;
        marks->step_count -= 1u + (head && tail);
        ll_str_addf(&partial, "%s%s%s %s", head ? marks->at[first].name : "", head && tail ? " and " : "",
                    tail ? marks->at[last].name : "", head && tail ? "are" : "is");
    }
    if (marks->step_count > 0)
        describe(marks, outside, partial.length ? partial.text : NULL, line);
    line->failed = line->failed || partial.failed;
    ll_str_release(&partial);
}

/* Steps by their marks: lists the marks, counts the calls of each and hashes their looks, and lets
 * choose_steps drop a first or last step that was recorded in part. */
bool ll_torch_find_marks(struct ll_import *import, const struct ll_torch_nodes *nodes,
                         const struct ll_torch_leaf *leaves, uint64_t count, struct ll_torch_marks *marks)
{
    assert(leaves || count == 0);
    struct sequences s = {.looks = NULL};
    struct ll_str line = {0};
    bool fine = list_marks(nodes, marks);
    s.looks = calloc(count + 1, sizeof *s.looks);
    s.first = calloc(marks->count + 2, sizeof *s.first);
    fine = fine && s.looks && s.first;
    for (uint64_t i = 0; fine && i < count; i++) {
        uint64_t at = mark_before(marks, leaves[i].node, leaves[i].place);
        marks->spanning = marks->spanning || (at != LL_TORCH_NO_STEP && marks->timed &&
                                              leaves[i].node->begin_ns < marks->at[at].end);
    }
    for (uint64_t i = 0; fine && i < marks->count; i++)
        marks->at[i].kept = true;
    uint64_t looks = 0, step = 0;
    for (uint64_t i = 0; fine && i < count; i++) {
        uint64_t at = ll_torch_step_of(marks, leaves[i].node, leaves[i].place);
        if (at == LL_TORCH_NO_STEP)
            continue;
        assert(at >= step);
        while (step < at)
            s.first[++step] = looks;
        s.looks[looks] = look_of(leaves[i].node);
        marks->at[at].look = ll_hash_bytes(marks->at[at].look, &s.looks[looks++], sizeof *s.looks);
        marks->at[at].calls++;
    }
    while (fine && step < marks->count)
        s.first[++step] = looks;
    if (fine && marks->count > 0)
        choose_steps(marks, leaves, count, &s, &line);
    fine = fine && !line.failed;
    if (fine && line.length > 0)
        fine = (marks->warning = ll_copy_text(&import->arena, line.text, line.length)) != NULL;
    ll_str_release(&line);
    free(s.looks);
    free(s.first);
    return fine || ll_import_no_memory(import);
}

void ll_torch_marks_release(struct ll_torch_marks *marks)
{
    free(marks->at);
    *marks = (struct ll_torch_marks){0};
}

void ll_torch_keep_step(struct ll_torch_kept *kept)
{
    ll_map_release(&kept->looks);
    kept->read_count = 0;
}

/* The slot of the storage of what looks so, the next one of this step; *is_new where no step before had
 * it. */
static uint64_t *next_place(struct ll_torch_kept *kept, uint64_t look, bool *is_new)
{
    bool is_first = false;
    uint32_t at = ll_map_intern(&kept->looks, &look, sizeof look, &is_first);
    if (at == LL_NO_ID ||
        !ll_grow(&kept->counts, &kept->count_capacity, (uint64_t)at + 1, sizeof *kept->counts))
        return NULL;
    kept->counts[at] = is_first ? 0 : kept->counts[at] + 1;
    const uint64_t key[] = {look, kept->counts[at]};
    at = ll_map_intern(&kept->places, key, sizeof key, is_new);
    if (at == LL_NO_ID ||
        !ll_grow(&kept->storages, &kept->storage_capacity, (uint64_t)at + 1, sizeof *kept->storages))
        return NULL;
    return &kept->storages[at];
}

/* For the backward call that reads it. Biases and averages are read by none. */
static bool note_read(struct ll_torch_kept *kept, const struct ll_torch_tensor *tensor, uint32_t argument)
{
    if (tensor->shape.rank < 2 && argument != 1)
        return true;
    if (!ll_grow(&kept->read, &kept->read_capacity, kept->read_count + 1, sizeof *kept->read))
        return false;
    kept->read[kept->read_count++] = (struct ll_torch_read){tensor->shape, tensor->storage, false};
    return true;
}

/* The same tensor, or that with its two dimensions exchanged. */
static bool is_same(const struct ll_shape *a, const struct ll_shape *b)
{
    if (a->rank != b->rank)
        return false;
    bool turned = a->rank == 2 && a->dim[0] == b->dim[1] && a->dim[1] == b->dim[0];
    return turned || memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Backwards, the last one of such a shape comes first. */
static void find_read(struct ll_torch_kept *kept, struct ll_torch_tensor *tensor)
{
    for (uint64_t i = kept->read_count; i-- > 0;) {
        struct ll_torch_read *read = &kept->read[i];
        if (read->taken || !is_same(&read->shape, &tensor->shape))
            continue;
        read->taken = true;
        tensor->storage = read->storage;
        return;
    }
}

static bool keep_tensor(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf, uint32_t argument,
                        struct ll_torch_tensor *tensor)
{
    uint64_t look = ll_hash_text(LL_HASH_START, leaf->node->name);
    bool is_new = false;
    look = hash_shape(ll_hash_bytes(look, &argument, sizeof argument), &tensor->shape);
    uint64_t *storage = next_place(kept, look, &is_new);
    if (!storage)
        return false;
    if (is_new)
        *storage = tensor->storage;
    tensor->storage = *storage;
    return leaf->phase == LL_PHASE_UPDATE || note_read(kept, tensor, argument);
}

bool ll_torch_keep(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf)
{
    assert(leaf->row);
    bool all = leaf->phase == LL_PHASE_UPDATE, fine = true;
    for (uint32_t a = 0; a < leaf->node->input_count; a++) {
        const struct ll_torch_value *value = &leaf->node->inputs[a];
        for (uint32_t t = 0; fine && value->kind == LL_TORCH_TENSORS && t < value->count; t++) {
            if (value->tensors[t].absent || !(all || is_weight(leaf, a)))
                continue;
            if (leaf->phase == LL_PHASE_BACKWARD)
                find_read(kept, &value->tensors[t]);
            else
                fine = keep_tensor(kept, leaf, a, &value->tensors[t]);
        }
    }
    return fine;
}

void ll_torch_keep_release(struct ll_torch_kept *kept)
{
    ll_map_release(&kept->places);
    ll_map_release(&kept->looks);
    free(kept->storages);
    free(kept->counts);
    free(kept->read);
    *kept = (struct ll_torch_kept){0};
}

/* Numbers that a profile does not tell.
 *
 * PyTorch before 2.1 writes the shapes of tensors and nothing of other arguments: how far a convolution
 * strides, what a pool's windows are. What comes out of an operator is not written either, but it is read by
 * the next one, and its gradient by the operator's own way back. So the result of a convolution with images
 * [n, c, h, w] and filters [k, c / groups, ...] is the first tensor [n, k, ...] that another call takes and
 * that some stride and padding lead to:
 *
 *     out = (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down
 *
 * Whichever of these lead there, as many products are computed. The window of a pool is not known from
 * shapes: the smallest one that leaves nothing out is taken, and said. Numbers that change no count (the axis
 * of a softmax, a factor) stay as PyTorch has them when they are not given. */

enum { LOOK_AHEAD = 64 /* calls, until somebody takes a result */, MOST_STRIDE = 64, MOST_DILATION = 32 };

static const char nobody_takes[] =
    "its numbers are not in the file (no \"Concrete Inputs\"), and no later call takes its result";
static const char not_told[] = "its numbers are not in the file (no \"Concrete Inputs\")";
static const char window_assumed[] = "windows of pools (the smallest that leave nothing out)";
static const char mode_assumed[] = "that batch normalization infers (nothing goes backwards)";
static const char gradient_assumed[] = "which gradients convolutions compute";
static const char rows_assumed[] = "that layer normalization is over the last dimension";

struct search {
    struct ll_import *import;
    const struct ll_torch_nodes *nodes;
    const struct ll_torch_leaf *leaves;
    uint64_t count, at;         /* of the leaves; which one lacks a number */
    struct ll_torch_node *node; /* of that leaf */
};

static const struct ll_shape *shape_at(const struct ll_torch_node *node, uint32_t argument)
{
    const struct ll_torch_value *value = argument < node->input_count ? &node->inputs[argument] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && !value->list && !value->tensors->absent;
    return there ? &value->tensors->shape : NULL;
}

/* Writes numbers where an argument told none. */
static void tell(const struct search *s, uint32_t argument, bool list, const int64_t *numbers, uint32_t count)
{
    struct ll_torch_value *value = argument < s->node->input_count ? &s->node->inputs[argument] : NULL;
    if (!value || !value->untold)
        return;
    double *told = ll_alloc(&s->import->arena, count, sizeof *told);
    if (!told) {
        ll_import_no_memory(s->import);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        told[i] = (double)numbers[i];
    *value = (struct ll_torch_value){.kind = LL_TORCH_NUMBERS, .list = list, .count = count, .numbers = told};
}

static void tell_one(const struct search *s, uint32_t argument, int64_t number)
{
    tell(s, argument, false, &number, 1);
}

static bool is_untold(const struct search *s, uint32_t argument)
{
    return argument < s->node->input_count && s->node->inputs[argument].untold;
}

/* Whether a shape may be what came out of the call; the second is what the call takes. */
typedef bool may_be(const struct search *s, const struct ll_shape *taken);

/* Whether a node lies within the call. */
static bool lies_within(const struct search *s, uint64_t node)
{
    const uint64_t place = s->leaves[s->at].place;
    while (node != UINT64_MAX && node > place)
        node = s->nodes->at[node].parent;
    return node == place;
}

/* The shape of the result, where a later call of its thread takes it; NULL: none does. Within the call only
 * what changes its result tells: its helpers take its arguments. */
static const struct ll_shape *find_result(const struct search *s, may_be *fits)
{
    uint64_t looked = 0;
    for (uint64_t i = s->leaves[s->at].place + 1; i < s->nodes->count && looked < LOOK_AHEAD; i++) {
        const struct ll_torch_node *node = &s->nodes->at[i];
        size_t length = strlen(node->name);
        bool changes = length > 0 && node->name[length - 1] == '_';
        if (node->thread != s->node->thread || node->input_count == 0 || (!changes && lies_within(s, i)))
            continue;
        looked++;
        for (uint32_t a = 0; a < node->input_count; a++)
            for (uint32_t t = 0; node->inputs[a].kind == LL_TORCH_TENSORS && t < node->inputs[a].count; t++)
                if (!node->inputs[a].tensors[t].absent && fits(s, &node->inputs[a].tensors[t].shape))
                    return &node->inputs[a].tensors[t].shape;
    }
    return NULL;
}

static bool same_dims(const struct ll_shape *a, const struct ll_shape *b)
{
    return a && b && a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* --- Windows that slide --- */

struct slide {
    int64_t stride, pad, dilation;
};

/* Stride, padding and dilation that lead from so many places to so many, the least dilation first, then the
 * padding that keeps the size, none, and others up to half of the window. */
static bool solve(uint64_t in, uint64_t out, uint64_t kernel, struct slide *slide)
{
    if (in == 0 || out == 0 || kernel == 0 || in > LL_ATEN_MOST || out > LL_ATEN_MOST)
        return false;
    for (uint64_t dilation = 1; dilation <= MOST_DILATION; dilation++) {
        uint64_t reach = ll_add(ll_mul(dilation, kernel - 1), 1), half = reach / 2;
        for (uint64_t i = 0; i <= half + 1 && reach <= LL_ATEN_MOST; i++) {
            uint64_t pad = i == 0 ? (reach - 1) / 2 : i - 1, wide = in + 2 * pad;
            if (wide < reach)
                continue;
            uint64_t least = (wide - reach) / out + 1,
                     stride = out == 1 ? ll_max(1, ll_min(least, kernel)) : 0;
            for (uint64_t s = 1; out > 1 && stride == 0 && s <= MOST_STRIDE; s++)
                stride = (wide - reach) / s + 1 == out ? s : 0;
            if (stride == 0 || (wide - reach) / stride + 1 != out)
                continue;
            *slide = (struct slide){(int64_t)stride, (int64_t)pad, (int64_t)dilation};
            return true;
        }
        if (kernel == 1)
            break; /* dilation changes nothing */
    }
    return false;
}

/* The dimensions of images behind their channels, and of filters, as PyTorch has them. */
static uint32_t sides(const struct ll_shape *image)
{
    return image->rank > 2 ? image->rank - 2u : 0;
}

static bool solve_all(const struct ll_shape *image, const struct ll_shape *filter, const struct ll_shape *out,
                      struct slide slides[LL_MAX_RANK])
{
    for (uint32_t i = 0; i < sides(image); i++)
        if (!solve(image->dim[2 + i], out->dim[2 + i], filter->dim[2 + i], &slides[i]))
            return false;
    return true;
}

static bool is_of(const struct ll_shape *image, const struct ll_shape *filter, const struct ll_shape *out)
{
    struct slide slides[LL_MAX_RANK];
    return out->rank == image->rank && out->dim[0] == image->dim[0] && out->dim[1] == filter->dim[0] &&
           solve_all(image, filter, out, slides);
}

static bool is_convolved(const struct search *s, const struct ll_shape *taken)
{
    return is_of(shape_at(s->node, 0), shape_at(s->node, 1), taken);
}

/* The gradient of the result, which the way back of the same convolution takes: all that look like it must
 * agree. */
static const struct ll_shape *find_gradient(const struct search *s)
{
    const enum ll_aten_word back = LL_ATEN_CONV_BACKWARD;
    const struct ll_shape *found = NULL;
    for (uint64_t i = s->at + 1; i < s->count; i++) {
        const struct ll_torch_node *node = s->leaves[i].node;
        const struct ll_shape *dy = shape_at(node, 0);
        if (s->leaves[i].row->word != back || !dy || !same_dims(shape_at(node, 1), shape_at(s->node, 0)) ||
            !same_dims(shape_at(node, 2), shape_at(s->node, 1)))
            continue;
        if (found && !same_dims(found, dy))
            return NULL;
        found = dy;
    }
    return found && is_convolved(s, found) ? found : NULL;
}

/* Whether somebody around the call, or called by it, is named after transposed convolutions. */
static bool is_transposed(const struct search *s)
{
    uint64_t place = s->leaves[s->at].place;
    for (uint64_t outer = place; outer != UINT64_MAX; outer = s->nodes->at[outer].parent)
        if (strstr(s->nodes->at[outer].name, "transpose"))
            return true;
    for (uint64_t i = place + 1; i < s->nodes->count && i <= place + LOOK_AHEAD; i++)
        if (strstr(s->nodes->at[i].name, "transpose") && lies_within(s, i))
            return true;
    return false;
}

/* What a transposed convolution makes of its image is what another convolution makes that image of. */
static bool grows(const struct ll_shape *image, const struct ll_shape *filter, const struct ll_shape *out,
                  struct slide slides[LL_MAX_RANK])
{
    bool right = out->rank == image->rank && out->dim[0] == image->dim[0] &&
                 image->dim[1] == filter->dim[0] && filter->dim[1] > 0 && out->dim[1] % filter->dim[1] == 0;
    for (uint32_t i = 0; right && i < sides(image); i++)
        right = solve(out->dim[2 + i], image->dim[2 + i], filter->dim[2 + i], &slides[i]);
    return right;
}

static bool is_grown(const struct search *s, const struct ll_shape *taken)
{
    struct slide slides[LL_MAX_RANK];
    const struct ll_shape *bias = shape_at(s->node, 2);
    return (!bias || (taken->rank > 1 && ll_elements(bias) == taken->dim[1])) &&
           grows(shape_at(s->node, 0), shape_at(s->node, 1), taken, slides);
}

/* Arguments from `first` on: stride, padding, dilation, transposed, output padding, groups. */
static const char *tell_convolution(const struct search *s, uint32_t first, const struct ll_shape *image,
                                    const struct ll_shape *filter, const struct ll_shape *out,
                                    bool transposed)
{
    struct slide slides[LL_MAX_RANK];
    int64_t strides[LL_MAX_RANK], pads[LL_MAX_RANK], dilations[LL_MAX_RANK], more[LL_MAX_RANK] = {0};
    const uint32_t count = sides(image);
    if (!out || !(transposed ? grows(image, filter, out, slides) : solve_all(image, filter, out, slides)))
        return nobody_takes;
    for (uint32_t i = 0; i < count; i++) {
        const struct slide *slide = &slides[i];
        int64_t reach = slide->dilation * ((int64_t)filter->dim[2 + i] - 1) + 1;
        strides[i] = slide->stride;
        pads[i] = slide->pad;
        dilations[i] = slide->dilation;
        if (transposed)
            more[i] = (int64_t)out->dim[2 + i] -
                      (((int64_t)image->dim[2 + i] - 1) * slide->stride - 2 * slide->pad + reach);
    }
    uint64_t parts = transposed ? out->dim[1] : image->dim[1];
    tell(s, first, true, strides, count);
    tell(s, first + 1, true, pads, count);
    tell(s, first + 2, true, dilations, count);
    tell_one(s, first + 3, transposed);
    tell(s, first + 4, true, more, count);
    tell_one(s, first + 5, (int64_t)(parts / filter->dim[1]));
    return NULL;
}

/* Images and filters that a convolution can have; the groups follow from their channels. */
static bool can_convolve(const struct ll_shape *image, const struct ll_shape *filter)
{
    return image && filter && image->rank == filter->rank && image->rank > 2 && filter->dim[1] > 0 &&
           image->dim[1] % filter->dim[1] == 0 && filter->dim[0] > 0 &&
           filter->dim[0] % ll_max(1, image->dim[1] / filter->dim[1]) == 0;
}

static const char *tell_conv(const struct search *s)
{
    const struct ll_shape *image = shape_at(s->node, 0), *filter = shape_at(s->node, 1);
    bool transposed = is_transposed(s);
    if (transposed && image && filter && image->rank == filter->rank && image->rank > 2)
        return tell_convolution(s, 3, image, filter, find_result(s, is_grown), true);
    if (transposed || !can_convolve(image, filter))
        return not_told;
    const struct ll_shape *out = find_result(s, is_convolved);
    return tell_convolution(s, 3, image, filter, out ? out : find_gradient(s), false);
}

/* Whether a later call of the step takes a gradient that looks like the image: then it was computed. */
static bool wants_image(const struct search *s, const struct ll_shape *image)
{
    for (uint64_t i = s->at + 1; i < s->count && s->leaves[i].phase == LL_PHASE_BACKWARD; i++)
        for (uint32_t a = 0; a < s->leaves[i].node->input_count; a++)
            if (same_dims(shape_at(s->leaves[i].node, a), image))
                return true;
    return false;
}

/* Whether the convolution that this is the way back of had a bias: the last one of this image and filter. */
static bool had_bias(const struct search *s)
{
    const enum ll_aten_word forward = LL_ATEN_CONVOLUTION;
    for (uint64_t i = s->at; i-- > 0;)
        if (s->leaves[i].row->word == forward &&
            same_dims(shape_at(s->leaves[i].node, 0), shape_at(s->node, 1)) &&
            same_dims(shape_at(s->leaves[i].node, 1), shape_at(s->node, 2)))
            return shape_at(s->leaves[i].node, 2) != NULL;
    return false;
}

/* convolution_backward(dy, x, weight, bias sizes, stride, ..., groups, which gradients are wanted) */
static const char *tell_conv_back(const struct search *s, const char **assumed)
{
    const struct ll_shape *dy = shape_at(s->node, 0), *image = shape_at(s->node, 1),
                          *filter = shape_at(s->node, 2);
    if (!dy || !image || !filter || image->rank != filter->rank || image->rank < 3)
        return not_told;
    bool transposed = is_transposed(s) || !can_convolve(image, filter) || !is_of(image, filter, dy);
    if (is_untold(s, 10)) {
        const int64_t wanted[] = {wants_image(s, image), 1, had_bias(s)};
        tell(s, 10, true, wanted, 3);
        *assumed = gradient_assumed;
    }
    return tell_convolution(s, 4, image, filter, dy, transposed) ? not_told : NULL;
}

/* The smallest windows that leave nothing out, side by side or overlapping. */
static const char *tell_windows(const struct search *s, uint32_t first, const struct ll_shape *image,
                                const struct ll_shape *out, const char **assumed)
{
    int64_t kernel[2], stride[2], pad[2] = {0, 0}, one[2] = {1, 1};
    if (!image || !out || image->rank < 3 || out->rank != image->rank)
        return nobody_takes;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t from = image->dim[image->rank - 2u + i], to = out->dim[image->rank - 2u + i];
        if (to == 0 || to > from || from > LL_ATEN_MOST)
            return nobody_takes;
        stride[i] = (int64_t)(to == 1 ? from : from % to == 0 ? from / to : (from - 1) / (to - 1));
        kernel[i] = (int64_t)from - ((int64_t)to - 1) * stride[i];
        stride[i] = kernel[i] < 1 ? 1 : stride[i];
        kernel[i] = (int64_t)from - ((int64_t)to - 1) * stride[i];
    }
    tell(s, first, true, kernel, 2);
    tell(s, first + 1, true, stride, 2);
    tell(s, first + 2, true, pad, 2);
    if (s->leaves[s->at].row->word == LL_ATEN_MAX_POOL ||
        s->leaves[s->at].row->word == LL_ATEN_MAX_POOL_BACKWARD)
        tell(s, first + 3, true, one, 2);
    *assumed = window_assumed;
    return NULL;
}

/* As many images and channels, not more places. */
static bool is_pooled(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *image = shape_at(s->node, 0);
    bool right = image && taken->rank == image->rank && taken->rank >= 3;
    for (uint32_t i = 0; right && i < taken->rank; i++)
        right = i + 2u < taken->rank ? taken->dim[i] == image->dim[i]
                                     : taken->dim[i] > 0 && taken->dim[i] <= image->dim[i];
    return right;
}

static bool is_resized(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *image = shape_at(s->node, 0);
    return image && taken->rank == 4 && image->rank == 4 && taken->dim[0] == image->dim[0] &&
           taken->dim[1] == image->dim[1] && !same_dims(taken, image);
}

static const char *tell_size(const struct search *s, may_be *fits)
{
    const struct ll_shape *out = find_result(s, fits);
    if (!out)
        return nobody_takes;
    const int64_t size[] = {(int64_t)ll_min(out->dim[out->rank - 2u], LL_ATEN_MOST),
                            (int64_t)ll_min(out->dim[out->rank - 1u], LL_ATEN_MOST)};
    tell(s, 1, true, size, 2);
    return NULL;
}

static bool is_backward(enum ll_op_kind kind)
{
    return kind == LL_OP_RESIZE_NEAREST_GRAD || kind == LL_OP_RESIZE_LINEAR_GRAD;
}

/* Backwards (dy, size of dy, size of x, ...): whoever goes on takes the gradient of x. */
static const char *tell_resized(const struct search *s)
{
    const struct ll_shape *out = find_result(s, is_resized);
    int64_t size[4];
    if (!out)
        return nobody_takes;
    for (uint32_t i = 0; i < 4; i++)
        size[i] = (int64_t)ll_min(out->dim[i], LL_ATEN_MOST);
    tell(s, 2, true, size, 4);
    return NULL;
}

/* --- Rows and sums --- */

/* What dimensions of x a shape lacks, or has as one, if it is x without them; 0: it is something else. */
static uint32_t reduced(const struct ll_shape *x, const struct ll_shape *taken)
{
    uint32_t marked = 0, at = 0;
    bool kept = taken->rank == x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (at < taken->rank && taken->dim[at] == x->dim[i]) {
            at++;
            continue;
        }
        if (kept && taken->dim[at] != 1)
            return 0;
        at += kept;
        marked |= 1u << i;
    }
    return at == taken->rank ? marked : 0;
}

static bool is_reduced(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *x = shape_at(s->node, 0);
    return x && reduced(x, taken) != 0;
}

/* sum(x) has two arguments, sum(x, dimensions, ...) more; norms name the power first. */
static const char *tell_dims(const struct search *s)
{
    uint32_t argument = s->leaves[s->at].row->kind == LL_OP_L2_LOSS ? 2 : 1, count = 0;
    const struct ll_shape *x = shape_at(s->node, 0);
    int64_t dims[LL_MAX_RANK];
    if (!x || x->rank < 2 || s->node->input_count <= argument + 1 || !is_untold(s, argument))
        return NULL;
    const struct ll_shape *out = find_result(s, is_reduced);
    if (!out)
        return nobody_takes;
    for (uint32_t marked = reduced(x, out), i = 0; i < x->rank; i++)
        if (marked >> i & 1)
            dims[count++] = i;
    tell(s, argument, true, dims, count);
    return NULL;
}

/* As many dimensions as the weight has. */
static const char *tell_rows(const struct search *s, uint32_t argument, uint32_t weight, const char **assumed)
{
    const struct ll_shape *x = shape_at(s->node, argument - 1), *w = shape_at(s->node, weight);
    int64_t dims[LL_MAX_RANK];
    uint32_t count = w && w->rank > 0 ? w->rank : 1;
    if (!x || x->rank < count)
        return not_told;
    for (uint32_t i = 0; i < count; i++)
        dims[i] = (int64_t)ll_min(x->dim[x->rank - count + i], LL_ATEN_MOST);
    tell(s, argument, true, dims, count);
    *assumed = w ? NULL : rows_assumed;
    return NULL;
}

/* The table that the same numbers were looked up in. */
static const char *tell_table(const struct search *s)
{
    const enum ll_aten_word forward = LL_ATEN_EMBEDDING;
    const struct ll_shape *dy = shape_at(s->node, 0), *numbers = shape_at(s->node, 1);
    for (uint64_t i = s->at; dy && dy->rank > 0 && i-- > 0;) {
        const struct ll_shape *table = shape_at(s->leaves[i].node, 0);
        if (s->leaves[i].row->word != forward || !table || table->rank != 2 ||
            table->dim[1] != dy->dim[dy->rank - 1u] || !same_dims(shape_at(s->leaves[i].node, 1), numbers))
            continue;
        tell_one(s, 2, (int64_t)ll_min(table->dim[0], LL_ATEN_MOST));
        return NULL;
    }
    return not_told;
}

/* x with as many as the numbers in one place. */
static uint32_t selected_axis(const struct ll_shape *x, uint64_t numbers, const struct ll_shape *taken)
{
    uint32_t axis = x->rank;
    if (taken->rank != x->rank)
        return x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (taken->dim[i] == x->dim[i])
            continue;
        if (axis < x->rank || taken->dim[i] != numbers)
            return x->rank;
        axis = i;
    }
    return axis;
}

static bool is_selected(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *x = shape_at(s->node, 0), *numbers = shape_at(s->node, 2);
    return x && numbers && selected_axis(x, ll_elements(numbers), taken) < x->rank;
}

static const char *tell_axis(const struct search *s)
{
    const struct ll_shape *x = shape_at(s->node, 0), *numbers = shape_at(s->node, 2);
    if (!x || !numbers || x->rank < 2)
        return NULL;
    const struct ll_shape *out = find_result(s, is_selected);
    if (!out)
        return nobody_takes;
    tell_one(s, 1, selected_axis(x, ll_elements(numbers), out));
    return NULL;
}

/* Tensors that are joined differ in one dimension alone; of equal ones as much is moved along any. */
static const char *tell_joint(const struct search *s)
{
    const struct ll_torch_value *list = s->node->input_count > 0 ? &s->node->inputs[0] : NULL;
    uint32_t axis = 0;
    for (uint32_t t = 1; list && list->kind == LL_TORCH_TENSORS && t < list->count; t++) {
        const struct ll_shape *first = &list->tensors[0].shape, *other = &list->tensors[t].shape;
        for (uint32_t i = 0; other->rank == first->rank && i < first->rank; i++)
            axis = first->dim[i] != other->dim[i] ? i : axis;
    }
    tell_one(s, 1, axis);
    return NULL;
}

/* By rule: where the argument is missing, what other calls took or made decides it. A number that no shape
 * shows is refused (top-k) or assumed and said (the mode of batch normalisation). */
const char *ll_torch_tell(struct ll_import *import, const struct ll_torch_nodes *nodes,
                          const struct ll_torch_leaf *leaves, uint64_t count, uint64_t at, bool training,
                          const char **assumed)
{
    assert(at < count && leaves[at].row);
    const struct search s = {import, nodes, leaves, count, at, leaves[at].node};
    const enum ll_aten_word rule = leaves[at].row->word;
    const struct ll_shape *x = shape_at(s.node, 0);
    *assumed = NULL;
    if (rule == LL_ATEN_CONVOLUTION)
        return is_untold(&s, 3) || is_untold(&s, 4) || is_untold(&s, 5) ? tell_conv(&s) : NULL;
    if (rule == LL_ATEN_CONV_BACKWARD)
        return is_untold(&s, 4) || is_untold(&s, 5) ? tell_conv_back(&s, assumed) : NULL;
    if (rule == LL_ATEN_MAX_POOL || rule == LL_ATEN_AVERAGE_POOL)
        return is_untold(&s, 1) ? tell_windows(&s, 1, x, find_result(&s, is_pooled), assumed) : NULL;
    if (rule == LL_ATEN_MAX_POOL_BACKWARD || rule == LL_ATEN_AVERAGE_BACKWARD)
        return is_untold(&s, 2) ? tell_windows(&s, 2, shape_at(s.node, 1), x, assumed) : NULL;
    if (rule == LL_ATEN_ADAPTIVE_POOL)
        return is_untold(&s, 1) ? tell_size(&s, is_pooled) : NULL;
    if (rule == LL_ATEN_RESIZE && is_untold(&s, 1))
        return is_backward(leaves[at].row->kind) ? tell_resized(&s) : tell_size(&s, is_resized);
    if (rule == LL_ATEN_BATCH_NORM && is_untold(&s, 5)) {
        tell_one(&s, 5, training);
        *assumed = training ? NULL : mode_assumed;
    }
    if (rule == LL_ATEN_LAYER_NORM)
        return is_untold(&s, 1) ? tell_rows(&s, 1, 2, assumed) : NULL;
    if (rule == LL_ATEN_LAYER_BACKWARD)
        return is_untold(&s, 2) ? tell_rows(&s, 2, 5, assumed) : NULL;
    if (rule == LL_ATEN_EMBEDDING_BACKWARD)
        return is_untold(&s, 2) ? tell_table(&s) : NULL;
    if (rule == LL_ATEN_INDEX_SELECT)
        return is_untold(&s, 1) ? tell_axis(&s) : NULL;
    if (rule == LL_ATEN_TOP_K)
        return is_untold(&s, 1) ? not_told : NULL;
    if (rule == LL_ATEN_REDUCE)
        return tell_dims(&s);
    return rule == LL_ATEN_JOIN && is_untold(&s, 1) ? tell_joint(&s) : NULL;
}
