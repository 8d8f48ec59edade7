/* SPDX-License-Identifier: Apache-2.0 */
/* A machine: compute units fed through memory levels, read from a YAML file.
 *
 * One model serves every device; `kind` is wording. All quantities are in base units (seconds, bytes,
 * bytes per second, hertz, joules). A machine is immutable once read, may be shared by threads, and owns
 * all it points to (but for one that ll_machine_turn made). */
#ifndef LL_SIM_MACHINE_MACHINE_H
#define LL_SIM_MACHINE_MACHINE_H

#include "sim/machine/cache_shape.h"
#include "sim/machine/core_types.h"
#include "sim/machine/dram.h"
#include "sim/machine/kernel_figures.h"
#include "sim/machine/unit.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LL_MAX_LEVELS = 16,
    LL_MAX_UNITS = 16,
    LL_MAX_LINKS = 8,
    LL_MAX_OVERLAYS = 128,
    LL_MAX_KERNELS = 128,
    LL_MAX_TRANSFORMS = 8,
    LL_MAX_COLLECTIVE_KERNELS = 8
};

enum ll_scope { LL_SCOPE_DEVICE, LL_SCOPE_UNIT, LL_SCOPE_CLUSTER };

/* Whether the next block loads into a level while one is worked on: into the other half; not; or line by line
 * where the block is done with. */
enum ll_buffering { LL_BUFFER_DOUBLE, LL_BUFFER_SINGLE, LL_BUFFER_CIRCULAR };

/* A memory in nodes, each beside as many of the units (sim/cost/cost_parts.h). */
struct ll_numa {
    uint64_t nodes;   /* at least 2 */
    double link_Bps;  /* between any two, one direction */
    double latency_s; /* that an access to another node takes more */
};

struct ll_level {
    const char *name;
    uint64_t size_bytes;  /* of one instance; there are ll_level_instances */
    double bandwidth_Bps; /* of one instance, both directions together */
    double read_Bps;      /* of its port for reads; 0: limited by bandwidth_Bps alone */
    double write_Bps;     /* of its port for writes; 0: likewise */
    double unit_Bps;      /* the most that one unit draws of it; 0: all there is */
    double efficiency;    /* sustained share of the bandwidth; 1 when not given */
    double latency_s;
    enum ll_scope scope;
    const char *dram;      /* a preset of sim/machine/dram.h; NULL: none */
    uint64_t channels;     /* of that DRAM, at least 1; 0 without */
    uint64_t access_bytes; /* smallest transfer; 0: a byte */
    uint64_t share;        /* units that share an instance, for scope cluster */
    enum ll_buffering buffering;
    bool passing_overlaps;        /* of one that holds one block at a time: others come meanwhile */
    bool holds[LL_OPERAND_COUNT]; /* operands that it keeps, where holds_given; ask ll_level_holds */
    bool holds_given;
    bool on_chip; /* where on_chip_given; ask ll_level_is_on_chip */
    bool on_chip_given;
    bool keeps_weights;          /* that nothing writes, for good, as many as it has room for */
    enum ll_dram_rest rest;      /* of a DRAM whose channels move nothing */
    struct ll_tile tile;         /* of a GEMM that software keeps in it; m 0: any */
    const char *loops;           /* that bring such tiles, outermost first, as "nmk"; NULL: any order */
    struct ll_cache_level cache; /* as in the file, where ways may be 0; ask ll_machine_cache */
    bool cache_given;
    struct ll_numa numa; /* where numa_given */
    bool numa_given;
    struct ll_accesses accesses; /* where accesses_given; for arrays (sim/array) */
    bool accesses_given;
};

/* How the gradient of a convolution's input is computed: with no more work than it needs; of a strided one as
 * libraries do, in the faster of two ways: over the result spread out with zeros, or scattered into a cleared
 * one; or as convolutions of stride 1, one for each remainder of a pixel by the stride, of all pixels. */
enum ll_strided { LL_STRIDED_EXACT, LL_STRIDED_LIBRARY, LL_STRIDED_PHASES };

/* How a convolution is computed: as a GEMM over windows in place; or, as simple libraries do, image by
 * image over windows copied to columns, one GEMM per image. */
enum ll_convolving { LL_CONVOLVING_DIRECT, LL_CONVOLVING_COLUMNS };

/* What an element-wise op is fused into: nothing; any op before it; or any that is no GEMM, because a
 * library's kernel computes GEMMs alone; or any op before it, as are pooling and local normalisation, which
 * pipelines behind a convolution core do. */
enum ll_fusion { LL_FUSION_NONE, LL_FUSION_ELEMENTWISE, LL_FUSION_CHAINS, LL_FUSION_LAYERS, LL_FUSION_COUNT };

/* How GEMMs are blocked for the memories: each level by formula, or by a search over nested tiles
 * (sim/cost/cost_parts.h) that minimizes an objective. */
enum ll_mapped { LL_MAPPED_CLOSED_FORM, LL_MAPPED_SEARCH };
enum ll_objective { LL_OBJECTIVE_TIME, LL_OBJECTIVE_ENERGY, LL_OBJECTIVE_EDP };

/* Algorithms of collective communication (sim/network). */
enum ll_algorithm {
#define LL_ALGORITHM(word, ...) LL_ALGORITHM_##word,
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM
    LL_ALGORITHM_COUNT /* stands for the fastest of all, the first among equals */
};

/* One row of a residual table (sim/cost/overlay.c): how many times as long as the model says work of a shape
 * took, near the unit (the launch included) and in the outermost memory. */
struct ll_shape_ratio {
    uint64_t
        shape[3]; /* of a GEMM m (with the batch), n, k; of other work lines, bytes read, bytes written */
    double near, far;
};

/* The residual table of one kernel: a calibration overlay, applied after the model (sim/cost/overlay.c). */
struct ll_overlay {
    const char *name; /* the kernel's */
    const struct ll_shape_ratio *shapes;
    uint64_t shape_count;
};

/* How well a kernel of the software stack uses the machine. An op is run by the first kernel that lists its
 * kind; ops that none lists use the machine perfectly. */
struct ll_kernel {
    const char *name;
    bool ops[LL_OP_NONE];
    double launch_overhead_s;    /* time that the host takes to launch it; 0: the software's op_overhead_s */
    double launch_overlap;       /* share of the launch overhead in which the device works already */
    double compute_efficiency;   /* share of the unit's rate that it reaches */
    double bandwidth_efficiency; /* share of every level's bandwidth that it reaches */
    double dram_efficiency;      /* the same of the outermost level alone; 0: bandwidth_efficiency */
    double serial;      /* share of the time of all but the slowest stage that does not overlap with it */
    unsigned dtype;     /* 1 + the only element type of its ops; others go to the next kernel; 0: any */
    uint64_t max_units; /* the most units that it can use; 0: all */
    uint64_t partition; /* lines of a GEMM's result, or channels of a convolution's, that a unit gets as one
                           piece; 0: the work is divided evenly */

    /* Row reductions, such as a softmax or a norm. */
    double passes;             /* times that operands are read, at least 1; GEMMs: their blocking says */
    uint64_t max_register_row; /* longest row, in elements, that is kept in registers, and read once */
    uint64_t rows_in_flight;   /* rows that a unit works on at once; 0: elements are divided evenly */
    double row_overhead_s;     /* time of a unit to begin a row that is not kept in registers */

    double strided_efficiency; /* convolutions of a stride above 1: share of compute_efficiency; 0: all */
};

/* A way to convolve in a transformed domain, offered beside the direct product (sim/cost/cost_parts.h). The
 * fastest is used. */
struct ll_transform {
    const char *name;
    uint64_t size;                      /* input points of a tile along one axis */
    uint64_t least_filter, most_filter; /* that it serves, along both axes */
    uint64_t products;                  /* real multiplications per point */
    bool fused;                         /* tiles are transformed as they are loaded and stored */
    bool absent;                        /* the library, or this use of it, does not have it */
    bool only_filter_gradients;         /* used for gradients of filters alone; else for all passes */
    double rate[LL_DTYPE_COUNT];        /* share of the unit's rate that its GEMMs reach; 0: not offered */
    double overhead_s;                  /* to start all its kernels; 0: as other convolutions */
};

/* Which library's cost tables `collectives: tuned` goes by (sim/machine/tuners.def). */
enum ll_tuner {
    LL_TUNER_NONE,
#define LL_TUNER(word, ...) LL_TUNER_##word,
#include "sim/machine/tuners.def"
#undef LL_TUNER
    LL_TUNER_COUNT
};

/* What devices do together. */
enum ll_collective {
#define LL_COLLECTIVE(word, ...) LL_COLLECTIVE_##word,
#include "sim/machine/collectives.def"
#undef LL_COLLECTIVE
    LL_COLLECTIVE_COUNT
};

/* Whether an algorithm (LL_ALGORITHM_COUNT: the fastest of all) can serve a collective on some network and
 * number of devices. Pure, thread-safe. */
bool ll_algorithm_serves(enum ll_algorithm algorithm, enum ll_collective collective);

/* A kernel of the stack's own that carries out a collective in place of the library (NCCL), as servers have
 * for all-reduces of small messages. It takes start_s + (devices - 1) peer_s, and the bytes over `efficiency`
 * of what the links reach. */
struct ll_collective_kernel {
    const char *name;
    enum ll_collective runs;
    enum ll_algorithm algorithm;
    double start_s, peer_s, efficiency;
    bool once_a_node; /* rows that go to several devices of a node cross the network once */
    /* The most that it serves of M (collectives.def) among 2, among 3 or 4, among 5 to 8 devices and among
     * more; 0, and beyond the count: it does not serve them. */
    double limits_bytes[LL_MAX_NUMBERS];
    uint64_t limit_count;
};

/* What a training framework keeps on the device beside a step's tensors, and what its kernels keep of a
 * forward pass beside what gradients of ops read. */
struct ll_training {
    bool gradient_buffers; /* gradients of weights stay from step to step */
    bool
        unused_weight_gradients; /* for each distinct shape of weights one tensor of their type, for ever: what GEMMs
                                 return that add up gradients by themselves */
    bool gather_buffer;          /* with sequence parallelism, one for the largest tensor that is gathered */
    bool norm_statistics;        /* a number of 32 bits for each row of a norm, until its backward pass */
    bool expert_rows; /* of experts: rows as they were dispatched, and both sides of the activation */
    /* How often gradients are read or written once a step beside their exchange and the update: to be
     * zeroed and checked, and, where there are replicas, averaged. */
    double gradient_passes, averaging_passes;
    uint64_t workspace_bytes;        /* of GEMM libraries, from the first call on */
    uint64_t expert_workspace_bytes; /* the same of grouped GEMMs, where there are experts */
    /* Memory of the device that the framework's allocator does not have. */
    uint64_t context_bytes; /* of the driver, kernels and libraries of a process */
    uint64_t collective_channels,
        message_channels;   /* of a communicator, around a ring and to each other device */
    uint64_t channel_bytes; /* of a channel between two devices, both ways */
};

struct ll_software {
    /* Ops are those of a server's steps, not single ones: what writes the KV cache converts keys and values,
     * and kernels that are fused with others are (key quantize_fused). Set by who replays such steps. */
    bool serves;
    double op_overhead_s;   /* to start one op */
    uint64_t queue;         /* ops that the host may start ahead of the device; 0: none */
    double loop_overhead_s; /* idle time of the device before each further turn of a loop over time */
    double gap_s;           /* idle time of the device before an op, however far ahead the host is */
    double step_overhead_s; /* of each dependent step of a sequence, beside its work */
    double grain;           /* FLOPs, or bytes if more, for which one unit is used; 0: all units are used */
    enum ll_fusion fusion;
    enum ll_strided strided;
    enum ll_convolving convolving;
    /* By dtype, for kernels that want channels last (NHWC): share of the bandwidth that the passes reach
     * which transform the layout of a convolution's operands; 0: they are taken as they are. */
    double layout_transform[LL_DTYPE_COUNT];
    /* Channels that a grouped convolution may take together, zeros between its groups; 0: groups stay apart.
     * */
    uint64_t group_block;
    /* Share of their rate that vector lanes reach in a depthwise convolution; 0: computed as others are. */
    double depthwise_efficiency;
    enum ll_mapped mapping;
    enum ll_objective objective; /* of the search */
    bool early_updates;          /* of weights, right after their gradients; else at the end of the step */
    enum ll_algorithm collectives;
    enum ll_tuner tuner;          /* what `collectives: tuned` goes by */
    double collective_overhead_s; /* to start a collective, until the first byte leaves */
    double message_overhead_s;    /* to start a message between two devices; 0: as a collective */
    double collective_dispatch_s; /* what a framework adds before the library starts a collective */
    double eager_collective_s; /* host time of a collective outside of a captured graph: a floor; 0: none */
    struct ll_collective_kernel collective_kernels[LL_MAX_COLLECTIVE_KERNELS]; /* network.h: which serves */
    uint64_t collective_kernel_count;
    struct ll_kernel kernels[LL_MAX_KERNELS];
    uint64_t kernel_count;
    struct ll_transform transforms[LL_MAX_TRANSFORMS];
    uint64_t transform_count;
    /* Fused attention; where none is for what is asked, attention is costed as GEMMs. */
    struct ll_attention_kernel attention[LL_MAX_ATTENTION_KERNELS];
    uint64_t attention_count;
    struct ll_expert_kernel experts[LL_MAX_EXPERT_KERNELS]; /* grouped GEMMs of experts, likewise */
    uint64_t expert_count;
    struct ll_linear_kernel linear[LL_MAX_LINEAR_KERNELS]; /* quantized linear layers, likewise */
    uint64_t linear_count;
    struct ll_training training;
};

/* Input is prepared by workers of the host, then sent to the device, both while the device computes an
 * earlier step. */
struct ll_host {
    double bandwidth_Bps; /* of the path from host memory; 0: inputs are there already */
    double latency_s;
    uint64_t cores;     /* of the host's processors; 0: not known */
    double prepare_Bps; /* at which a worker draws, reads or decodes input; 0: that takes no time */
    double encode_Bps;  /* at which a worker writes what ops of the input phase make of it; 0: likewise */
    uint64_t workers;   /* that work in parallel; 0: one */
    uint64_t buffered_steps; /* whose input the device has room for; 0: one */
    bool fills_caches;       /* input arrives through the device's caches, not in its outermost memory */
};

enum ll_topology {
#define LL_TOPOLOGY(word, ...) LL_TOPOLOGY_##word,
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
    LL_TOPOLOGY_COUNT
};

/* A level of the network: joins `devices` groups, each of what the levels before it join. */
struct ll_network {
    const char *name;
    enum ll_topology topology;
    uint64_t devices;
    struct ll_extents shape;
    const char **edges; /* "0-1", "0-1x2", "0>1": see hwconfigs/README.md */
    uint64_t edge_count;
    double bandwidth_Bps;    /* of one link, one direction */
    double efficiency;       /* share of it that large messages reach */
    double latency_s;        /* of one message over one link */
    uint64_t chunk_bytes;    /* that a device has in flight at once; 0: all */
    double chunk_latency_s;  /* to pass on a part of a chunk, beside latency_s */
    double ll_efficiency;    /* share of the bandwidth that NCCL's protocol LL reaches; 0: there is none */
    double ll128_efficiency; /* the same of LL128 */
    double in_network;       /* share of the bandwidth at which its switches add up; 0: they do not */
    uint64_t in_network_chunk_bytes; /* of each device's part, added up before copies go out; 0: any few */
    double port_Bps;                 /* the most that a device sends or receives on this level; 0: any */
    double group_port_Bps;           /* the same of a group of the levels before, over all its links */
    uint64_t links;                  /* of such a group into this level; 0: one per device */
    double oversubscription;         /* of a fat tree */
    double j_per_byte;               /* of a byte over one link, with both its ends; 0: not described */
    double units_taken; /* share of a device's units that an exchange over this level keeps busy; below 1 */
};

struct ll_energy {
    double mac_j[LL_DTYPE_COUNT];           /* of one multiply-accumulate */
    double op_j[LL_DTYPE_COUNT];            /* of one operation outside GEMMs; none given: half a mac_j */
    double level_j_per_byte[LL_MAX_LEVELS]; /* of traffic out of a level, in the order of `levels` */
    double on_chip_j_per_byte;   /* of a level of 1 KiB; scaled for all on the chip without figure */
    uint64_t on_chip_bank_bytes; /* the largest size that this scaling assumes; 0: the level's own */
    double register_j_per_bit;   /* of registers in arrays without figure: of a bit read or written */
    double decode_j_per_bit;     /* and of a bit of the address, at each of their lines; both 0: on_chip */
    double figures_nm;           /* node of which the figures above are, and areas; 0: nothing is scaled */
    double node_nm;              /* of the chip; 0: figures_nm */
    double off_chip_j_per_byte;  /* of levels outside of the chip without figure */
    double host_j_per_byte;
    double leakage_w_per_mm2; /* over the area, when static_w is 0 */
    double static_w;
    double limit_w;         /* of the board, more than static_w; 0: no limit */
    double power_per_clock; /* exponent of the clock in power while limit_w lowers the clock; 0: 1 */
};

struct ll_area {
    double pe_m2[LL_DTYPE_COUNT]; /* of one multiply-accumulator */
    double sram_m2_per_byte;      /* of all levels on the chip */
    double fixed_m2;
};

/* Diameter of a wafer. */
enum { LL_WAFER_MM = 300 };

struct ll_pricing {
    double wafer_usd; /* price of a processed wafer of LL_WAFER_MM */
    double defects_per_cm2;
    double clustering; /* of defects; 0: none */
    uint64_t dies;     /* equal ones, of which the area consists */
    double memory_usd_per_GiB;
    double fixed_usd;
    double usd_per_hour; /* of renting one device; 0: not known */
    double purchase_usd; /* of buying one, which serves for lifetime_years */
    double lifetime_years;
    double usd_per_kwh; /* of what a device that was bought draws */
};

/* How often devices and what joins them fail in a training of weeks, and what goes on then (leadline plan
 * --rank-by goodput). Times between failures are means, in hours of one device, one node, one link; 0: such
 * failures are not described. */
struct ll_reliability {
    double device_mtbf_hours, node_mtbf_hours, link_mtbf_hours;
    double restart_s;      /* from a failure until steps go on, but for reading the checkpoint */
    double repair_hours;   /* until a failed device is back */
    double checkpoint_Bps; /* at which the storage takes a checkpoint from all devices; 0: not described */
};

/* Which requests a scheduler of a language-model server lets in. Word, name, what it is. */
#define LL_ADMISSION_LIST(X)                                                                                 \
    X(KNOWN, "known", "those whose tokens so far fit in free blocks (vLLM)")                                 \
    X(ESTIMATE, "estimate",                                                                                  \
      "those whose prompt fits beside an estimate of what running ones will still make (SGLang)")            \
    X(MAXIMUM, "maximum", "those that fit with all that they and running ones may make (TensorRT-LLM)")

enum ll_admission {
#define X(word, name, help) LL_ADMISSION_##word,
    LL_ADMISSION_LIST(X)
#undef X
        LL_ADMISSION_COUNT
};

/* The sizes of a step's batch on devices with at least so much memory. */
enum { LL_MAX_SERVER_BATCHES = 8 };
struct ll_server_batch {
    uint64_t memory_bytes;
    uint64_t tokens, sequences; /* the most of a step */
    uint64_t captured;          /* tokens of the largest batch that a captured graph computes; 0: none */
};

/* What a language-model server does beside computing: sim/serve. */
struct ll_server {
    enum ll_admission admission;
    bool prompts_first, chunks, prefix_caching, overlaps, captures_prompts;
    uint64_t block, reserved_blocks;
    double memory_share;  /* of the memory, that weights, activations and the KV cache may take */
    bool share_of_rest;   /* the share is of what weights and activations leave, and all goes to the cache */
    double context_bytes; /* of libraries and the framework */
    double step_s, sequence_s; /* the host's time for a step, and for each sequence in it */
    double eager_op_s;         /* to start an op's kernels where no captured graph holds them */
    double request_s;          /* before a request is in the queue */
    /* Steps: until new requests are looked for, that prompts wait for more, that they wait for other
     * ranks'. */
    uint64_t receive_steps, wait_steps, balance_steps;
    double wait_share;                                     /* of a step's tokens, for which prompts wait */
    struct ll_server_batch batches[LL_MAX_SERVER_BATCHES]; /* the last whose memory a device has counts */
    uint64_t batch_count;
};

struct ll_kernel_table; /* sim/cost/kernel_table.h */

/* A file of measured kernels that a machine names. */
struct ll_data_file {
    const char *path;   /* where it was found; NULL: the machine names none */
    const char *beside; /* the file that names it; NULL: an override does */
    uint32_t digest;    /* of its bytes */
};

/* Which points of a table of measured kernels stay unheard: those of the same shape; those of one fold, as
 * LL_LEAVE_FOLD + its number. So a row can be predicted from others than itself. LL_LEAVE_OWN_FOLD asks a
 * validation to leave out each row's own fold, and leaves out nothing by itself. */
enum { LL_LEAVE_NOTHING, LL_LEAVE_SHAPE, LL_LEAVE_OWN_FOLD, LL_LEAVE_FOLD };

/* Where a value comes from: a path as --set takes it, and words. */
struct ll_source {
    const char *path, *text;
};

struct ll_machine {
    struct ll_arena arena;
    /* What -c calls it: the file's name without folder and .yaml, and its stacks, as h100_sxm+pytorch. */
    const char *stem;
    const char *path;   /* of that file */
    const char *base;   /* what -c calls the one machine that the file inherits; NULL: none, or several */
    const char *device; /* name of the device's file, of a system that of its devices; NULL: of no family */
    const char
        *family;      /* whose libraries it uses, as nvidia_hopper; NULL: its file says all of its software */
    const char *name; /* for people */
    const char *kind; /* wording only */
    const char **aliases; /* deprecated: names in data */
    uint64_t alias_count;
    uint64_t year;  /* in which the device came out; 0: not said */
    bool estimated; /* its figures are those of one data sheet */
    bool estimated_given;
    const char *system; /* what `-c` calls the system that several of it make; NULL: not said */
    double clock_hz;
    struct ll_unit units[LL_MAX_UNITS];
    uint64_t unit_count;
    struct ll_level levels[LL_MAX_LEVELS]; /* innermost first, at least one */
    uint64_t level_count;
    struct ll_software software;
    struct ll_host host;
    struct ll_network networks[LL_MAX_LINKS];
    uint64_t network_count;
    struct ll_core cores[LL_MAX_CORE_TYPES]; /* none: all units share all memories */
    uint64_t core_type_count;
    struct ll_core_link core_links[LL_MAX_CORE_LINKS]; /* between cores and the outermost memory */
    uint64_t core_link_count;
    struct ll_energy energy;
    bool energy_given;
    struct ll_area area;
    bool area_given;
    struct ll_pricing pricing;
    bool pricing_given;
    struct ll_reliability reliability;
    bool reliability_given;
    struct ll_server server;
    bool server_given;
    struct ll_overlay overlays[LL_MAX_OVERLAYS]; /* residual tables, one a kernel */
    uint64_t overlay_count;
    struct ll_data_file measured;        /* what it names; `table` is made of it (sim/validate/table.h) */
    const struct ll_kernel_table *table; /* measured kernels; NULL: none, or not made yet */
    unsigned table_leaves;               /* LL_LEAVE_... */
    struct ll_source *sources;
    uint64_t source_count;
    /* Machines of further pools of devices, on which later stages of a pipeline lie; owned. */
    struct ll_machine **pools;
    uint64_t pool_count;
    const char *title;    /* the stems of all pools, as -c has them; NULL: there is one */
    uint32_t config_hash; /* of all values after inheritance and overrides, not of names and sources; 0 of one
                           * that ll_machine_turn made */
};

/* One --set path=value. */
struct ll_override {
    const char *path, *value;
};

/* Reads a machine: `which` is the path of a YAML file, or the name of a device or system in the search
 * folders (NULL-terminated list) or what their aliases.yaml has for such a name; behind it may stand stacks
 * of software, as in `h100_sxm+pytorch`. Base files are read first, overrides are applied last, then
 * everything is checked. NULL after complaints, as many as could be found; remarks of what an alias stands
 * for. Free with ll_machine_free. Thread-safe. */
struct ll_machine *ll_machine_read(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count,
                                   struct ll_diags *diags);

/* The same from text in memory; name stands for the file in complaints and where `inherits` looks. */
struct ll_machine *ll_machine_parse(const char *text, size_t length, const char *name,
                                    const char *const *folders, const struct ll_override *overrides,
                                    size_t override_count, struct ll_diags *diags);
void ll_machine_free(struct ll_machine *machine);

/* What people call the machine: its stem, with those of further pools as -c has them. Pure. */
const char *ll_machine_title(const struct ll_machine *machine);

/* Takes another machine over as a further pool of this one. False when memory ran out: it is freed then. */
bool ll_machine_add_pool(struct ll_machine *machine, struct ll_machine *pool);

/* The resolved machine as one JSON object: every key of the schema that has a value, in schema order,
 * quantities in base units; `sources` included. */
void ll_machine_json(const struct ll_machine *machine, struct ll_json *json);

/* These keys into the object that is open. */
void ll_machine_json_keys(const struct ll_machine *machine, struct ll_json *json);

/* The resolved machine as YAML that reads back to the same machine. */
void ll_machine_yaml(const struct ll_machine *machine, struct ll_str *out);

/* Calls back for each table of keys that has one of this name: what the table is of, as "systolic unit", and
 * what the key means, without full stop. */
void ll_machine_key_meanings(const char *key,
                             void (*found)(void *context, const char *table, const char *key,
                                           const char *meaning),
                             void *context);

/* The key reference: every key with unit, bounds, default and help, as Markdown. */
void ll_machine_reference(struct ll_str *out);

/* Names of the machines in the folders, sorted, each once; in the arena. part is "devices/", "systems/",
 * "accelerators/" or "" (files that lie in none of these); NULL: all. False when memory ran out. */
bool ll_machine_list(const char *const *folders, const char *part, struct ll_arena *arena,
                     const char ***stems, size_t *count);

/* Names of the stacks that are for devices of a family (NULL: of all), sorted, in the arena; beside is the
 * path of the device's file, or NULL. False when memory ran out. */
bool ll_stack_list(const char *const *folders, const char *beside, const char *family, struct ll_arena *arena,
                   const char ***stacks, size_t *count);

/* Whether a word is the name of a machine, or stands for one, that these folders have; of stacks behind it
 * nothing is said. */
bool ll_machine_is_known(const char *which, const char *const *folders);

/* The table of aliases.yaml that says which machine a name of hardware in data means. Its texts lie in the
 * arena; free the rest with ll_aliases_free. NULL after complaints. */
enum { LL_MOST_HARDWARE = 512 };
struct ll_aliases;
struct ll_aliases *ll_aliases_read(const char *const *folders, struct ll_arena *arena,
                                   struct ll_diags *diags);
void ll_aliases_free(struct ll_aliases *aliases);

/* What -c calls the machine that a name means, in any case of letters; NULL: the table does not say. */
const char *ll_aliases_find(const struct ll_aliases *aliases, const char *hardware);

/* Highest rate of a dtype's multiply-accumulate arithmetic over all units, in FLOP/s (multiply and add are
 * two), without efficiency; vector units count their flops. Zero when no unit computes this dtype. */
double ll_machine_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype);

/* The kernel of the software stack that runs such work of this kind of op; a perfect one where none is named.
 * Lives as long as the machine. */
const struct ll_kernel *ll_machine_kernel(const struct ll_machine *machine, enum ll_op_kind kind,
                                          const struct ll_work *work);

/* How many instances of a level serve this many units, at least 1. */
uint64_t ll_level_instances(const struct ll_level *level, uint64_t units);

/* The same for the units of a machine: for those of the kind that it has most of. */
uint64_t ll_machine_instances(const struct ll_machine *machine, uint64_t level);

/* The residual table that bears the kernel's name; NULL: none does. */
const struct ll_overlay *ll_machine_overlay(const struct ll_machine *machine, const struct ll_kernel *kernel);

/* "a", "b" or "c", as `holds` of a level may call it. */
const char *ll_operand_name(enum ll_operand operand);

/* Whether the level keeps an operand; others bypass it. */
static inline bool ll_level_holds(const struct ll_level *level, enum ll_operand operand)
{
    return !level->holds_given || level->holds[operand];
}

/* Whether it is part of the chip's area: as it says, or else all are but the outermost. Pure. */
static inline bool ll_level_is_on_chip(const struct ll_machine *machine, uint64_t level)
{
    const struct ll_level *it = &machine->levels[level];
    return it->on_chip_given ? it->on_chip : level + 1 < machine->level_count;
}

/* Whether it keeps all operands. */
static inline bool ll_level_holds_all(const struct ll_level *level)
{
    return ll_level_holds(level, LL_OPERAND_A) && ll_level_holds(level, LL_OPERAND_B) &&
           ll_level_holds(level, LL_OPERAND_C);
}

/* Whether reads or writes have a bandwidth of their own. Pure. */
static inline bool ll_level_has_ports(const struct ll_level *level)
{
    return level->read_Bps > 0 || level->write_Bps > 0;
}

/* Whether it is a cache whose misses are waited for in turn. Pure. */
static inline bool ll_level_waits(const struct ll_machine *machine, uint64_t level)
{
    const struct ll_level *it = &machine->levels[level];
    return level + 1 < machine->level_count && it->cache_given && it->cache.non_overlapping &&
           it->buffering == LL_BUFFER_DOUBLE && ll_level_holds_all(it) && !ll_level_has_ports(it) &&
           !ll_level_has_ports(it + 1);
}

/* Joules of one multiply-accumulate; 0 without figures. Pure. */
double ll_machine_mac_j(const struct ll_machine *machine, enum ll_dtype dtype);

/* Joules of a work's arithmetic, computed in dtype, and of a byte that is read out of level l or written
 * into it; 0 without figures. Pure. */
double ll_machine_compute_j(const struct ll_machine *machine, const struct ll_work *work,
                            enum ll_dtype dtype);
double ll_machine_level_j(const struct ll_machine *machine, uint64_t l);

/* Joules of an access of so many bits to a memory inside an array: of a register file of D lines of W bits
 *
 *       W * register + D * B * decode,  B = log2(D) where the file does not say
 *
 * as the components of Aladdin's tables make it up (Shao et al., ISCA 2014): the register that is read or
 * written, and at each line a comparator of B bits of the address. Without figures of registers, what a
 * memory of that size takes, by its ports and banks as ll_machine_level_j. Pure. */
double ll_machine_register_j(const struct ll_machine *machine, const struct ll_register *r,
                             double width_bits);

/* Joules of a bit from one element of an array to the next, of a byte over a link between cores, and of a
 * conversion and of a row driven in an array in memory: what the machine says, or else what follows from
 * lengths, bits and the node (sim/machine/components.h); 0 without either. Pure. */
double ll_machine_hop_j(const struct ll_machine *machine, uint64_t u);
double ll_machine_core_link_j(const struct ll_machine *machine, const struct ll_core_link *link);
double ll_machine_convert_j(const struct ll_machine *machine, const struct ll_unit *unit);
double ll_machine_drive_j(const struct ll_machine *machine, const struct ll_unit *unit);

/* Area to first order, in m2; NaN without figures. Pure. */
double ll_machine_area_m2(const struct ll_machine *machine);

/* Of that, all instances of a unit: its arithmetic and its registers, or the cells and converters of an array
 * in memory; and a byte, and all instances, of a level; 0 of one outside of the chip. */
double ll_machine_unit_area_m2(const struct ll_machine *machine, uint64_t u);
double ll_machine_level_m2_per_byte(const struct ll_machine *machine, uint64_t l);
double ll_machine_level_area_m2(const struct ll_machine *machine, uint64_t l);

/* What a device costs to make, in USD: its dies, each its share of the good ones of a wafer, the outermost
 * memory, and what is fixed. With a wafer of diameter d and dies of area A, of which D A defects hit each
 * and cluster by alpha,
 *
 * dies per wafer = floor(pi (d / 2)^2 / A - pi d / sqrt(2 A))       (Hennessy and Patterson, Computer
 * Architecture, 1.6) yield = (1 + D A / alpha)^-alpha, or e^(-D A) where none cluster  (Stapper, Armstrong
 * and Saji, Proc. IEEE 71, 1983)
 *
 * False where the machine does not say, or a wafer is priced and the area is not known, or no wafer holds a
 * die. Pure. */
struct ll_priced {
    double dies_per_wafer, yield; /* 0 where no wafer is priced */
    double dies_usd, memory_usd, fixed_usd, all_usd;
};
bool ll_machine_price(const struct ll_machine *machine, struct ll_priced *priced);

/* Whether the machine says what making a device costs, or a part of it. Pure. */
bool ll_machine_has_making_price(const struct ll_machine *machine);

/* What having one device for an hour costs, in USD, without electricity: its purchase spread evenly over its
 * lifetime where it was bought, else its rent; NaN where the machine says neither. Pure. */
double ll_machine_usd_per_hour(const struct ll_machine *machine);

/* Watts that flow all the time: the given ones, or what leaks over the area and what DRAM takes at rest.
 * Pure. */
double ll_machine_static_w(const struct ll_machine *machine);

/* Where an operand goes that comes out of a level: the next level further in that holds it, or
 * LL_CATCHER_UNIT. Pure. */
enum { LL_CATCHER_UNIT = -1 };
int ll_destination_level(const struct ll_machine *machine, uint64_t level, enum ll_operand operand);

/* Whether that is a level which all units share. Pure. */
bool ll_destination_is_shared(const struct ll_machine *machine, int catcher);

/* The number of near levels: those whose traffic depends on how the unit does the task, because some operand
 * comes to them from nothing that all units share. Without `holds` that is every level up to and including
 * the first of device scope. Pure. */
uint64_t ll_private_levels(const struct ll_machine *machine);

/* The levels [first, end) out of which nested tiles can pass, each into the one before it: of a scope, unit
 * or device, those behind which a memory of that scope lies, as long as all of them hold all operands; of
 * shared ones, those of which the near traffic says nothing. Pure. */
struct ll_levels {
    uint64_t first, end;
};
struct ll_levels ll_nested_levels(const struct ll_machine *machine, enum ll_scope scope);

/* Joules of a byte of an operand in the memory that it goes to from a level, which is accessed as well; 0
 * where that is the unit. Pure. */
double ll_machine_inside_j(const struct ll_machine *machine, uint64_t level, enum ll_operand operand);

/* What all instances of a level of memory together deliver. Pure. */
double ll_machine_level_Bps(const struct ll_machine *machine, uint64_t level);

/* The level that holds tensors: the outermost. Its total bandwidth, efficiency applied. */
double ll_machine_memory_Bps(const struct ll_machine *machine);

/* The cache that a level with cache_given is: its sets follow from its size; without ways it has one. Pure.
 */
struct ll_cache_level ll_machine_cache(const struct ll_level *level);

/* Something of a machine that a what-if question changes: a unit's clock and rates together, a level's
 * bandwidth, host.bandwidth, the cost of starting ops, ... */
struct ll_knob {
    const char *path;  /* as --set takes it; in brackets, what is turned with it */
    const char *label; /* for people: "hbm bandwidth" */
    double factor;     /* 2; or 0, which removes a cost */
};

/* The knobs of a machine, in a fixed order, in the arena; *count of them. NULL when memory ran out. */
const struct ll_knob *ll_machine_knobs(const struct ll_machine *machine, struct ll_arena *arena,
                                       size_t *count);

/* The ends of links between cores: cores, those of the first kind first, and behind them the outermost
 * memory. */
enum { LL_MOST_CORE_ENDS = LL_MOST_CORES + 1 };
struct ll_core_ends {
    uint64_t first, count;
};

/* All cores of all kinds. Pure. */
uint64_t ll_machine_core_count(const struct ll_machine *machine);

/* How many cores have a unit; 1 of a machine without cores. Pure. */
uint64_t ll_machine_cores_with(const struct ll_machine *machine, uint64_t unit);

/* The ends that a word of `joins` names; a count of 0: none. Pure. */
struct ll_core_ends ll_core_ends_of(const struct ll_machine *machine, const char *word);

/* The ends that a link joins, in its order, each once; as many as there are. Pure. */
uint64_t ll_core_link_ends(const struct ll_machine *machine, const struct ll_core_link *link,
                           uint16_t ends[LL_MOST_CORE_ENDS]);

/* Calls back for each link between two ends that a list of ends makes: a bus once, with every end. Pure. */
typedef void ll_core_link_found(void *context, uint64_t from, uint64_t to);
void ll_core_link_pairs(const struct ll_core_link *link, const uint16_t *ends, uint64_t count,
                        ll_core_link_found *found, void *context);

/* Index of a unit or level by name; the count where there is none. Pure. */
uint64_t ll_machine_unit_named(const struct ll_machine *machine, const char *name);
uint64_t ll_machine_level_named(const struct ll_machine *machine, const char *name);

/* One core of a kind as a machine by itself: its units and memories, and the outermost memory behind them. A
 * shallow copy: not to be freed, to be used no longer than the machine. Its units, levels and energy by level
 * are the machine's at unit_of[] and level_of[]. */
struct ll_one_core {
    struct ll_machine machine;
    uint64_t unit_of[LL_MAX_UNITS], level_of[LL_MAX_LEVELS];
};
void ll_machine_one_core(const struct ll_machine *machine, uint64_t type, struct ll_one_core *core);

/* How many devices the machine's network joins; 1 without one, LL_NO_FIT past 64 bits. */
uint64_t ll_machine_devices(const struct ll_machine *machine);

/* What -c calls the system that several of a device make, with the device's stacks behind it:
 * h100_sxm+pytorch makes dgx_h100+pytorch. NULL where the machine has a network, names no system or is a file
 * of its own that only inherits a device; also when memory ran out. In the arena. Thread-safe. */
const char *ll_machine_system(const struct ll_machine *machine, struct ll_arena *arena);

/* A copy of the machine with knob i turned, which points to the texts and lists of the original: that lives
 * as long. Free with ll_machine_free. NULL when memory ran out. */
struct ll_machine *ll_machine_turn(const struct ll_machine *machine, size_t knob);

#endif
