/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives of oneDNN. What one computes is asked of the library when it first runs, written into the log
 * once for all equal ones, and remembered by its address until it is destroyed: addresses are given out
 * again.
 *
 * The library's public functions are found by name in whatever library the call goes to. Of version 2's
 * structs three places are read (memory descriptors, strides and the like of convolutions and of pooling), of
 * version 3, whose structs are opaque, none. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/ring.h"

#include <errno.h>
#include <string.h>

enum { LIBRARIES = 4, KNOWN = 1 << 15, PROBES = 8, SAID = 1 << 12, MOST_RANK = 12 };

/* dnnl_query_t. */
enum { ASK_KIND = 2, ASK_PROPAGATION = 11, ASK_DESCRIPTION = 65, ASK_EXEC_ARGUMENT = 255 };
enum { ASK3_STRIDES = 14, ASK3_FLAGS = 19, ASK3_ALGORITHM, ASK3_LOCAL_SIZE = 24 };
enum { ASK3_CELL = 28, ASK3_KERNEL = 31 };
enum { ASK3_RANK = 256, ASK3_DIMS, ASK3_TYPE, ASK3_OFFSET, ASK3_PADDED, ASK3_BLOCKS = 263, ASK3_BLOCK };
enum { KIND_CONVOLUTION = 5, KIND_DECONVOLUTION = 6, KIND3_POOLING = 16 };
enum {
    KIND2_ELTWISE = 7,
    KIND2_POOLING = 9,
    KIND2_LRN,
    KIND2_BATCH_NORMALIZATION,
    KIND2_LAYER_NORMALIZATION,
    KIND2_RNN = 14,
    KIND2_BINARY = 16,
    KIND2_RESAMPLING = 19
};
enum { KIND2_POOLING2 = 20, KIND2_REDUCTION };
enum { POST_OP_SUM = 4, FORMAT_BLOCKED = 2 };
#define SIZE_AT_RUN_TIME INT64_MIN

/* Version 2 of the structs, as far as they are read; memory descriptors are 696 bytes. */
struct memory2 {
    int rank;
    int64_t dims[MOST_RANK];
    int type;
    int64_t padded[MOST_RANK], padded_offsets[MOST_RANK], offset;
    int format;
    int64_t strides[MOST_RANK];
    int blocks;
    int64_t block[MOST_RANK], block_dim[MOST_RANK];
    char rest[80];
};
struct description2 {
    int kind, propagation, algorithm;
};
struct convolution2 {
    struct description2 head;
    struct memory2 memory[8];
    int64_t strides[MOST_RANK], dilations[MOST_RANK], paddings[2][MOST_RANK];
};
struct pooling2 {
    struct description2 head;
    struct memory2 memory[4];
    int64_t strides[MOST_RANK], kernel[MOST_RANK], paddings[2][MOST_RANK];
    int type;
    int64_t dilations[MOST_RANK];
};
struct lrn2 {
    struct description2 head;
    struct memory2 memory[2];
    int64_t local_size;
};
struct normalization2 {
    int kind, propagation;
    struct memory2 memory[5];
    float epsilon;
    unsigned flags;
};
_Static_assert(sizeof(struct memory2) == 696, "as in dnnl_types.h of version 2");
_Static_assert(offsetof(struct memory2, block) == 424, "as in dnnl_types.h of version 2");
_Static_assert(offsetof(struct convolution2, strides) == 5584, "as in dnnl_types.h of version 2");
_Static_assert(offsetof(struct pooling2, dilations) == 3192, "as in dnnl_types.h of version 2");
_Static_assert(offsetof(struct lrn2, local_size) == 1408, "as in dnnl_types.h of version 2");
_Static_assert(offsetof(struct normalization2, flags) == 3492, "as in dnnl_types.h of version 2");

/* The functions of one loaded oneDNN; the same in both versions, but for the last one. */
struct library {
    _Atomic(void *) execute; /* its own; written last */
    int major;
    int (*get_description)(const void *primitive, const void **description);
    int (*query)(const void *description, int what, int index, void *result);
    const void *(*query_memory)(const void *description, int what, int index);
    int (*get_attributes)(const void *description, const void **attributes);
    int (*get_post_ops)(const void *attributes, const void **post_ops);
    int (*post_op_count)(const void *post_ops);
    int (*post_op_kind)(const void *post_ops, int index);
    int (*get_memory)(const void *memory, const void **descriptor);
    int (*get_address)(const void *memory, void **address);
    size_t (*get_bytes)(const void *descriptor);
    int (*query_descriptor)(const void *descriptor, int what, void *result); /* version 3 */
};

struct known {
    _Atomic(const void *) primitive;
    _Atomic uint64_t place; /* in the log */
};

static struct library libraries[LIBRARIES];
static struct known known[KNOWN];
static _Atomic uint64_t said[SAID]; /* places of descriptions in the log + 1, by their hash */
static _Atomic uint64_t known_generation;

struct version {
    int major, minor, patch;
};

/* What the functions are called; in the order of struct library. */
static bool find_functions(struct library *library, void *execute)
{
    static const char *const names[] = {
        "dnnl_primitive_get_primitive_desc",
        "dnnl_primitive_desc_query",
        "dnnl_primitive_desc_query_md",
        "dnnl_primitive_desc_get_attr",
        "dnnl_primitive_attr_get_post_ops",
        "dnnl_post_ops_len",
        "dnnl_post_ops_get_kind",
        "dnnl_memory_get_memory_desc",
        "dnnl_memory_get_data_handle",
        "dnnl_memory_desc_get_size",
    };
    union {
        void *address;
        const struct version *(*call)(void);
    } version = {.address = ll_module_symbol_for("dnnl_version", execute)};
    void *found[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(found[i] = ll_module_symbol_for(names[i], execute)))
            return false;
    memcpy(&library->get_description, found, sizeof found);
    void *descriptor = ll_module_symbol_for("dnnl_memory_desc_query", execute);
    memcpy(&library->query_descriptor, &descriptor, sizeof descriptor);
    library->major = version.address ? version.call()->major : 0;
    return library->major == 2 || (library->major == 3 && descriptor);
}

/* The functions of the library whose dnnl_primitive_execute this is; NULL when it is of no version known
 * here. */
static const struct library *library_of(void *execute)
{
    static _Atomic uint32_t busy;
    for (int i = 0; i < LIBRARIES; i++)
        if (atomic_load_explicit(&libraries[i].execute, memory_order_acquire) == execute)
            return libraries[i].major ? &libraries[i] : NULL;
    if (atomic_exchange(&busy, 1))
        return NULL;
    const struct library *found = NULL;
    for (int i = 0; i < LIBRARIES; i++) {
        if (atomic_load(&libraries[i].execute))
            continue;
        if (find_functions(&libraries[i], execute))
            found = &libraries[i];
        else
            libraries[i].major = 0;
        atomic_store_explicit(&libraries[i].execute, execute, memory_order_release);
        break;
    }
    atomic_store(&busy, 0);
    return found;
}

/* A memory descriptor's type and dimensions, at most as many as `dims` holds. */
static int read_descriptor(const struct library *library, const void *descriptor, int *type,
                           const int64_t **dims)
{
    int rank = 0;
    if (!descriptor)
        return 0;
    if (library->major == 2) {
        const struct memory2 *memory = descriptor;
        *type = memory->type;
        *dims = memory->dims;
        rank = memory->rank;
    } else if (library->query_descriptor(descriptor, ASK3_RANK, &rank) != 0 ||
               library->query_descriptor(descriptor, ASK3_TYPE, type) != 0 ||
               library->query_descriptor(descriptor, ASK3_DIMS, (void *)dims) != 0) {
        rank = 0;
    }
    return rank > 0 && rank <= MOST_RANK ? rank : 0;
}

/* How the elements lie: along each dimension so many blocks so far apart, each of so many elements. */
struct layout {
    int64_t offset;
    const int64_t *padded, *strides, *block, *block_dim;
    int blocks;
};

static bool read_layout(const struct library *library, const void *descriptor, struct layout *layout)
{
    if (library->major == 2) {
        const struct memory2 *memory = descriptor;
        *layout = (struct layout){memory->offset, memory->padded,    memory->strides,
                                  memory->block,  memory->block_dim, memory->blocks};
        return memory->format == FORMAT_BLOCKED;
    }
    return library->query_descriptor(descriptor, ASK3_OFFSET, &layout->offset) == 0 &&
           library->query_descriptor(descriptor, ASK3_PADDED, (void *)&layout->padded) == 0 &&
           library->query_descriptor(descriptor, ASK3_STRIDES, (void *)&layout->strides) == 0 &&
           library->query_descriptor(descriptor, ASK3_BLOCKS, &layout->blocks) == 0 &&
           library->query_descriptor(descriptor, ASK3_BLOCK, (void *)&layout->block) == 0 &&
           library->query_descriptor(descriptor, ASK3_BLOCK + 1, (void *)&layout->block_dim) == 0;
}

static uint64_t bytes_of(int type)
{
    static const uint8_t bytes[] = {0, 2, 2, 4, 4, 1, 1, 8, 1};
    return type > 0 && (size_t)type < sizeof bytes ? bytes[type] : 1;
}

/* Where a part of a memory begins, in bytes, and up to where it reaches: the library says of such a one that
 * it has no size. 0 for the whole. */
static uint64_t find_part(const struct library *library, const void *descriptor, int type, int rank,
                          uint64_t *bytes)
{
    struct layout layout;
    int64_t last = 0, inner = 1, blocks[MOST_RANK];
    if (!read_layout(library, descriptor, &layout) || layout.offset <= 0 || layout.blocks > MOST_RANK)
        return 0;
    for (int i = 0; i < rank; i++)
        blocks[i] = layout.padded[i];
    for (int i = 0; i < layout.blocks; i++) {
        inner *= layout.block[i];
        blocks[layout.block_dim[i]] /= layout.block[i];
    }
    for (int i = 0; i < rank; i++)
        last += (blocks[i] - 1) * layout.strides[i];
    *bytes = (uint64_t)(last + inner) * bytes_of(type);
    return (uint64_t)layout.offset * bytes_of(type);
}

/* Adds an argument's words; false when its size is known only at run time. */
static bool add_memory(const struct library *library, const void *description,
                       const struct ll_dnnl_argument *argument, uint64_t *words, unsigned *count)
{
    const void *descriptor = NULL;
    const int64_t *dims = NULL;
    int type = 0, rank;
    if (library->get_memory(argument->memory, &descriptor) != 0)
        return true;
    rank = read_descriptor(library, descriptor, &type, &dims);
    uint64_t *to = words + *count;
    to[LL_PRIMITIVE_ARGUMENT] = (uint64_t)argument->argument;
    to[LL_PRIMITIVE_TYPE] = (uint64_t)type;
    to[LL_PRIMITIVE_BYTES] = rank ? library->get_bytes(descriptor) : 0;
    to[LL_PRIMITIVE_RANK] = (uint64_t)rank;
    if (rank)
        to[LL_PRIMITIVE_OFFSET] = find_part(library, descriptor, type, rank, &to[LL_PRIMITIVE_BYTES]);
    for (int i = 0; i < rank; i++)
        to[LL_PRIMITIVE_DIMS + i] = (uint64_t)dims[i];
    *count += LL_PRIMITIVE_DIMS + (unsigned)rank;
    rank = read_descriptor(library, library->query_memory(description, ASK_EXEC_ARGUMENT, argument->argument),
                           &type, &dims);
    for (int i = 0; i < rank; i++)
        if (dims[i] == SIZE_AT_RUN_TIME)
            return false;
    return true;
}

static void add_list(const int64_t *from, uint64_t n, uint64_t *words, unsigned *count)
{
    for (uint64_t i = 0; i < n; i++)
        words[(*count)++] = from ? (uint64_t)from[i] : 0;
}

/* Where a kind's description has its algorithm. */
static uint64_t algorithm2(uint64_t kind, const struct description2 *head)
{
    switch (kind) {
    case KIND_CONVOLUTION:
    case KIND_DECONVOLUTION:
    case KIND2_ELTWISE:
    case KIND2_POOLING:
    case KIND2_LRN:
    case KIND2_RNN:
    case KIND2_RESAMPLING:
    case KIND2_POOLING2:
        return (uint64_t)head->algorithm;
    case KIND2_BINARY:
    case KIND2_REDUCTION:
        return (uint64_t)head->propagation; /* these have no propagation */
    default:
        return 0;
    }
}

/* And what else it has to say: see LL_PRIMITIVE_NUMBERS. */
static uint64_t parameter2(uint64_t kind, const void *said_by)
{
    switch (kind) {
    case KIND2_LRN:
        return (uint64_t)((const struct lrn2 *)said_by)->local_size;
    case KIND2_BATCH_NORMALIZATION:
    case KIND2_LAYER_NORMALIZATION:
        return ((const struct normalization2 *)said_by)->flags;
    default:
        return 0;
    }
}

/* The lists of LL_PRIMITIVE_LISTS for n spatial dimensions, and the algorithm. */
static void add_lists2(const struct library *library, const void *description, uint64_t n, uint64_t *words,
                       unsigned *count)
{
    const void *said_by = NULL;
    uint64_t kind = words[LL_PRIMITIVE_KIND];
    bool convolves = kind == KIND_CONVOLUTION || kind == KIND_DECONVOLUTION;
    bool pools = kind == KIND2_POOLING || kind == KIND2_POOLING2;
    if (library->query(description, ASK_DESCRIPTION, 0, &said_by) != 0)
        said_by = NULL;
    const struct convolution2 *convolution = convolves ? said_by : NULL;
    const struct pooling2 *pooling = pools ? said_by : NULL;
    words[LL_PRIMITIVE_ALGORITHM] = said_by ? algorithm2(kind, said_by) : 0;
    words[LL_PRIMITIVE_PARAMETER] = said_by ? parameter2(kind, said_by) : 0;
    add_list(convolution ? convolution->strides : pooling ? pooling->strides : NULL, n, words, count);
    add_list(convolution                         ? convolution->dilations
             : pooling && kind == KIND2_POOLING2 ? pooling->dilations
                                                 : NULL,
             n, words, count);
    for (int side = 0; side < 2; side++)
        add_list(convolution ? convolution->paddings[side]
                 : pooling   ? pooling->paddings[side]
                             : NULL,
                 n, words, count);
    add_list(pooling ? pooling->kernel : NULL, n, words, count);
}

static void add_lists3(const struct library *library, const void *description, uint64_t n, uint64_t *words,
                       unsigned *count)
{
    static const int questions[LL_PRIMITIVE_LISTS] = {ASK3_STRIDES, ASK3_STRIDES + 1, ASK3_STRIDES + 2,
                                                      ASK3_STRIDES + 3, ASK3_KERNEL};
    int algorithm = 0;
    unsigned flags = 0;
    int64_t local_size = 0;
    if (library->query(description, ASK3_FLAGS, 0, &flags) == 0)
        words[LL_PRIMITIVE_PARAMETER] = flags;
    if (library->query(description, ASK3_LOCAL_SIZE, 0, &local_size) == 0 && local_size > 0)
        words[LL_PRIMITIVE_PARAMETER] = (uint64_t)local_size;
    if (library->query(description, ASK3_ALGORITHM, 0, &algorithm) == 0 ||
        library->query(description, ASK3_CELL, 0, &algorithm) == 0)
        words[LL_PRIMITIVE_ALGORITHM] = (uint64_t)algorithm;
    for (int i = 0; i < LL_PRIMITIVE_LISTS; i++) {
        const int64_t *list = NULL;
        if (n && library->query(description, questions[i], 0, &list) != 0)
            list = NULL;
        add_list(list, n, words, count);
    }
}

static void add_post_ops(const struct library *library, const void *description, uint64_t *words)
{
    const void *attributes = NULL, *post_ops = NULL;
    if (library->get_attributes(description, &attributes) != 0 || !attributes ||
        library->get_post_ops(attributes, &post_ops) != 0 || !post_ops)
        return;
    int count = library->post_op_count(post_ops);
    words[LL_PRIMITIVE_POST_OPS] = (uint64_t)count;
    for (int i = 0; i < count; i++)
        words[LL_PRIMITIVE_ADDS] |= library->post_op_kind(post_ops, i) == POST_OP_SUM;
}

/* Over how many spatial dimensions a window moves: all of an image's but batch and channels. */
static uint64_t spatial_of(const struct library *library, int kind, const struct ll_dnnl_argument *argument)
{
    if (kind != KIND_CONVOLUTION && kind != KIND_DECONVOLUTION &&
        (library->major == 2 ? kind != KIND2_POOLING && kind != KIND2_POOLING2 : kind != KIND3_POOLING))
        return 0;
    const void *descriptor = NULL;
    const int64_t *dims;
    int type, rank = 0;
    if (library->get_memory(argument->memory, &descriptor) == 0)
        rank = read_descriptor(library, descriptor, &type, &dims);
    return rank >= 3 && rank <= 2 + LL_PRIMITIVE_MOST_SPATIAL ? (uint64_t)rank - 2 : 0;
}

/* The argument from which spatial dimensions are read: some source or destination. */
static const struct ll_dnnl_argument *some_image(const struct ll_dnnl_argument *arguments, int count)
{
    for (int i = 0; i < count; i++)
        if (arguments[i].argument == 1 || arguments[i].argument == 129 || arguments[i].argument == 17)
            return &arguments[i];
    return NULL;
}

/* The place in the log of these words, where they may have been written before. */
static uint64_t say_once(uint64_t *words, unsigned count)
{
    uint64_t hash = count;
    for (unsigned i = 1; i < count; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
    const uint64_t *log = (const uint64_t *)((const char *)ll_process() + LL_RING_LOG_AT);
    _Atomic uint64_t *slot = &said[hash >> 20 & (SAID - 1)];
    uint64_t place = atomic_load(slot);
    words[0] = ll_ring_header((enum ll_ring_kind)LL_RING_LOG_PRIMITIVE, count, 0, 0);
    if (place && memcmp(log + place - 1, words, count * sizeof *words) == 0)
        return place - 1;
    place = ll_log(LL_RING_LOG_PRIMITIVE, words, count);
    if (place != LL_RING_UNSAID)
        atomic_store(slot, place + 1);
    return place;
}

/* Writes down what a primitive computes; *lasts is false when the next execution may be of other sizes. */
static uint64_t describe(const struct library *library, const void *primitive, int count,
                         const struct ll_dnnl_argument *arguments, bool *lasts)
{
    uint64_t words[LL_RING_LOG_WORDS] = {0};
    const void *description = NULL;
    int kind = 0, propagation = 0;
    if (library->get_description(primitive, &description) != 0 || !description ||
        library->query(description, ASK_KIND, 0, &kind) != 0)
        return LL_RING_UNSAID;
    if (library->query(description, ASK_PROPAGATION, 0, &propagation) != 0)
        propagation = 0;
    const struct ll_dnnl_argument *image = some_image(arguments, count);
    uint64_t n = image ? spatial_of(library, kind, image) : 0;
    words[LL_PRIMITIVE_VERSION] = (uint64_t)library->major;
    words[LL_PRIMITIVE_KIND] = (uint64_t)kind;
    words[LL_PRIMITIVE_PROPAGATION] = (uint64_t)propagation;
    words[LL_PRIMITIVE_SPATIAL] = n;
    unsigned used = LL_PRIMITIVE_WORDS;
    (library->major == 2 ? add_lists2 : add_lists3)(library, description, n, words, &used);
    add_post_ops(library, description, words);
    words[used++] = (uint64_t)count;
    *lasts = true;
    for (int i = 0; i < count; i++)
        *lasts &= add_memory(library, description, &arguments[i], words, &used);
    return say_once(words, used);
}

static uint64_t slot_of(const void *primitive)
{
    return (uint64_t)(uintptr_t)primitive * UINT64_C(0x9e3779b97f4a7c15) >> 40;
}

/* A child's log is another one: what its parent knew leads nowhere. */
static void forget_parent(void)
{
    uint64_t generation = ll_process_generation();
    if (atomic_exchange(&known_generation, generation) == generation)
        return;
    for (int i = 0; i < KNOWN; i++)
        atomic_store_explicit(&known[i].primitive, NULL, memory_order_relaxed);
    for (int i = 0; i < SAID; i++)
        atomic_store_explicit(&said[i], 0, memory_order_relaxed);
}

static uint64_t place_of(void *execute, const void *primitive, int count,
                         const struct ll_dnnl_argument *arguments)
{
    uint64_t first = slot_of(primitive);
    struct known *free_slot = NULL;
    if (!ll_process_open() || !primitive || count < 0 || count > LL_PRIMITIVE_MOST_ARGUMENTS)
        return LL_RING_UNSAID;
    if (atomic_load_explicit(&known_generation, memory_order_relaxed) != ll_process_generation())
        forget_parent();
    for (uint64_t i = 0; i < PROBES; i++) {
        struct known *slot = &known[(first + i) % KNOWN];
        const void *there = atomic_load_explicit(&slot->primitive, memory_order_acquire);
        if (there == primitive)
            return atomic_load(&slot->place);
        if (!there && !free_slot)
            free_slot = slot;
    }
    int error = errno;
    bool lasts = false;
    const struct library *library = library_of(execute);
    uint64_t place = library ? describe(library, primitive, count, arguments, &lasts) : LL_RING_UNSAID;
    if (place != LL_RING_UNSAID && lasts && free_slot) {
        atomic_store(&free_slot->place, place);
        atomic_store_explicit(&free_slot->primitive, primitive, memory_order_release);
    }
    errno = error;
    return place;
}

static void forget(const void *primitive)
{
    uint64_t first = slot_of(primitive);
    for (uint64_t i = 0; primitive && i < PROBES; i++) {
        const void *there = primitive;
        atomic_compare_exchange_strong(&known[(first + i) % KNOWN].primitive, &there, NULL);
    }
}

int dnnl_primitive_execute(const void *primitive, void *stream, int count,
                           const struct ll_dnnl_argument *arguments)
{
    void *caller = __builtin_return_address(0);
    struct ll_call_way way = ll_reach(LL_SYMBOL_dnnl_primitive_execute, caller);
    union {
        void *address;
        int (*call)(const void *, void *, int, const struct ll_dnnl_argument *);
    } real = {.address = way.real};
    if (!real.address)
        return 5; /* dnnl_runtime_error */
    uint64_t place = place_of(real.address, primitive, count, arguments);
    if (place == LL_RING_UNSAID)
        return real.call(primitive, stream, count, arguments);
    struct ll_wrapper_frame frame;
    uint64_t *word = frame.words + LL_RING_CALL_WORDS;
    const struct library *library = library_of(real.address);
    *word++ = place;
    for (int i = 0; library && i < count; i++) {
        void *address = NULL;
        library->get_address(arguments[i].memory, &address);
        *word++ = (uint64_t)arguments[i].argument;
        *word++ = (uint64_t)(uintptr_t)address;
    }
    frame.passage = (struct ll_passage){
        .caller = caller,
        .way = way,
        .symbol = LL_SYMBOL_dnnl_primitive_execute,
    };
    ll_enter(&frame, __builtin_frame_address(0));
    int status = real.call(primitive, stream, count, arguments);
    ll_leave(&frame, LL_RING_EXECUTE, (unsigned)(word - frame.words));
    return status;
}

int dnnl_primitive_destroy(void *primitive)
{
    union {
        void *address;
        int (*call)(void *);
    } real = {.address = ll_reach(LL_SYMBOL_dnnl_primitive_destroy, __builtin_return_address(0)).real};
    forget(primitive);
    return real.address ? real.call(primitive) : 5;
}
