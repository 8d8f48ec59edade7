/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of a simulated step as other simulators take it: accesses of the outermost memory for Ramulator 2,
 * packets between a memory on the chip and its elements for BookSim.
 *
 * What an op moves through a level of memory is known, and when it runs. Its results are stored once; all
 * else is loaded, of each tensor in proportion to its size, from its beginning to its end, and again where
 * the op passes over it several times. Each storage has an address of its own, in the order in which ops
 * meet them; none is used twice. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/convert/convert.h"

enum { PAGE = 4096, MOST_NODES = 65536 };

/* Where the storages of a trace lie. */
struct places {
    const struct ll_trace *trace;
    uint64_t *bytes, *address; /* by storage; an address of 0: not met yet */
    uint64_t next;
};

/* What an op reads or writes of one storage. */
struct stream {
    uint64_t address, bytes; /* of the storage's tensor */
    double moved;            /* bytes in all */
    bool stores;
};

static bool find_sizes(struct ll_export *export, struct places *places)
{
    const struct ll_trace *trace = export->trace;
    uint64_t storages = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++)
        storages = ll_max(storages, (uint64_t)trace->tensors[i].storage + 1);
    *places = (struct places){.trace = trace, .next = PAGE};
    places->bytes = ll_alloc(&export->arena, (size_t)storages + 1, sizeof *places->bytes);
    places->address = ll_alloc(&export->arena, (size_t)storages + 1, sizeof *places->address);
    if (!places->bytes || !places->address) {
        export->status = LL_NO_MEMORY;
        return false;
    }
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        uint64_t *bytes = &places->bytes[trace->tensors[i].storage];
        *bytes = ll_max(*bytes, ll_size_bytes(&trace->descs[trace->tensors[i].desc].shape));
    }
    return true;
}

static struct stream stream_of(struct places *places, uint32_t tensor, bool stores)
{
    const struct ll_tensor *t = &places->trace->tensors[tensor];
    if (places->address[t->storage] == 0) {
        places->address[t->storage] = places->next;
        places->next = ll_add(places->next, ll_mul(ll_ceil_div(places->bytes[t->storage] + 1, PAGE), PAGE));
    }
    uint64_t bytes = ll_size_bytes(&places->trace->descs[t->desc].shape);
    return (struct stream){.address = places->address[t->storage], .bytes = bytes, .stores = stores};
}

enum { MOST_STREAMS = 2 * LL_MAX_OP_REFS };

/* The streams of an op that moves so many bytes; how many. */
static uint32_t find_streams(struct places *places, uint32_t op, double moved, struct stream *streams)
{
    const struct ll_trace *trace = places->trace;
    const struct ll_op *o = &trace->ops[op];
    const struct ll_op_view *view = &trace->signatures[o->signature].view;
    double in = 0, out = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->input_count && count < MOST_STREAMS; i++) {
        streams[count] = stream_of(places, ll_op_input(trace, op, i), false);
        in += (double)streams[count++].bytes;
    }
    for (uint32_t i = 0; i < view->output_count && count < MOST_STREAMS; i++) {
        streams[count] = stream_of(places, o->first_output + i, true);
        out += (double)streams[count++].bytes;
    }
    double stored = fmin(out, in > 0 ? moved / 2 : moved);
    for (uint32_t i = 0; i < count; i++) {
        double all = streams[i].stores ? out : in, part = streams[i].stores ? stored : moved - stored;
        streams[i].moved = all > 0 ? part * ((double)streams[i].bytes / all) : 0;
    }
    return count;
}

static bool read_count(const char *text, uint64_t *number)
{
    char *end;
    *number = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    return *number >= 1 && *end == '\0';
}

/* A number that the user chose, at least 1. False after a complaint. */
static bool choose(struct ll_export *export, const char *key, uint64_t otherwise, uint64_t most,
                   uint64_t *number)
{
    const char *given = ll_export_choice(export, key);
    *number = otherwise;
    if (!given || (read_count(given, number) && *number <= most))
        return true;
    return ll_complain(export->diags, (struct ll_place){0},
                       "-p %s=%s: expected a whole number from 1 to %" PRIu64, key, given, most);
}

/* The level whose traffic is asked for: by its name, else so many from the outermost. */
static bool choose_level(struct ll_export *export, const struct ll_op_schedule *schedule,
                         uint32_t from_outermost, uint32_t *level)
{
    const char *given = ll_export_choice(export, "level");
    if (schedule->level_count == 0)
        return ll_complain(export->diags, (struct ll_place){0},
                           "traffic follows from a machine; expected one with -c");
    *level = schedule->level_count > from_outermost ? schedule->level_count - 1 - from_outermost : 0;
    for (uint32_t l = 0; given && l < schedule->level_count; l++)
        if (strcmp(schedule->levels[l], given) == 0) {
            *level = l;
            return true;
        }
    return !given || ll_complain(export->diags, (struct ll_place){0},
                                 "-p level=%s: the machine has no such memory", given);
}

/* Accesses of an op, those of all streams spread over its time alike: the next one is of the stream that is
 * the furthest behind. */
static bool put_accesses(struct ll_export *export, const struct stream *streams, uint32_t count,
                         uint64_t burst)
{
    uint64_t done[MOST_STREAMS] = {0}, all[MOST_STREAMS];
    for (uint32_t i = 0; i < count; i++)
        all[i] = (uint64_t)ceil(streams[i].moved / (double)burst);
    for (;;) {
        uint32_t next = count;
        for (uint32_t i = 0; i < count; i++)
            if (done[i] < all[i] &&
                (next == count || (double)done[i] / (double)all[i] < (double)done[next] / (double)all[next]))
                next = i;
        if (next == count)
            return true;
        uint64_t bursts = ll_max(1, ll_ceil_div(streams[next].bytes, burst));
        ll_str_addf(&export->out, "%s 0x%" PRIx64 "\n", streams[next].stores ? "ST" : "LD",
                    streams[next].address + done[next] % bursts * burst);
        done[next]++;
        if (!ll_export_spill(export))
            return false;
    }
}

/* A line an access, "LD 0x1000" or "ST 0x2040": Ramulator 2's frontend LoadStoreTrace. */
bool ll_export_RAMULATOR2(struct ll_export *export)
{
    struct places places;
    struct stream streams[MOST_STREAMS];
    uint64_t burst;
    uint32_t level;
    const struct ll_op_schedule *schedule = ll_export_schedule(export);
    if (!schedule || !choose(export, "burst", 64, PAGE, &burst) ||
        !choose_level(export, schedule, 0, &level) || !ll_export_ready(export) ||
        !find_sizes(export, &places))
        return false;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        struct ll_scheduled scheduled = {.energy_j = NAN};
        uint32_t op = schedule->first_op + i;
        schedule->at(schedule, op, &scheduled);
        uint32_t count = find_streams(&places, op, scheduled.level_bytes[level], streams);
        if (!put_accesses(export, streams, count, burst))
            return false;
    }
    return true;
}

/* The network on the chip as the user has it. */
struct mesh {
    uint64_t nodes, memory, packet, flit, clock_hz;
};

static bool choose_mesh(struct ll_export *export, struct mesh *mesh)
{
    uint64_t memory = 1;
    bool right = choose(export, "nodes", 16, MOST_NODES, &mesh->nodes) &&
                 choose(export, "memory", 1, MOST_NODES, &memory) &&
                 choose(export, "packet", 64, PAGE, &mesh->packet) &&
                 choose(export, "flit", 16, PAGE, &mesh->flit) &&
                 choose(export, "clock", 1000000000, UINT64_C(1000000000000), &mesh->clock_hz);
    mesh->memory = memory - 1;
    if (right && (mesh->nodes < 2 || mesh->memory >= mesh->nodes))
        return ll_complain(export->diags, (struct ll_place){0},
                           "expected two nodes or more, and the memory, counted from 1, among them");
    return right;
}

/* Packets of an op, evenly over its time: to each element in turn what is loaded, and from each what is
 * stored. */
static bool put_packets(struct ll_export *export, const struct mesh *mesh,
                        const struct ll_scheduled *scheduled, double loaded, double stored, uint64_t *turn)
{
    uint64_t in = (uint64_t)ceil(loaded / (double)mesh->packet),
             out = (uint64_t)ceil(stored / (double)mesh->packet);
    uint64_t flits = ll_ceil_div(mesh->packet, mesh->flit), all = in + out;
    double begin = (scheduled->start_s + scheduled->time_s - scheduled->active_s) * (double)mesh->clock_hz;
    double cycles = scheduled->active_s * (double)mesh->clock_hz;
    for (uint64_t i = 0; i < all; i++) {
        bool stores = (i + 1) * out / all > i * out / all;
        uint64_t element = (*turn)++ % (mesh->nodes - 1);
        element += element >= mesh->memory;
        ll_str_addf(&export->out, "%.0f %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                    floor(begin + cycles * (double)i / (double)all), stores ? element : mesh->memory,
                    stores ? mesh->memory : element, flits);
        if (!ll_export_spill(export))
            return false;
    }
    return true;
}

/* A line a packet, "cycle source destination flits", as BookSim's versions that inject from files take
 * them. */
bool ll_export_BOOKSIM(struct ll_export *export)
{
    struct places places;
    struct stream streams[MOST_STREAMS];
    struct mesh mesh;
    uint32_t level;
    uint64_t turn = 0;
    const struct ll_op_schedule *schedule = ll_export_schedule(export);
    if (!schedule || !choose_mesh(export, &mesh) || !choose_level(export, schedule, 1, &level) ||
        !ll_export_ready(export) || !find_sizes(export, &places))
        return false;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        struct ll_scheduled scheduled = {.energy_j = NAN};
        double stored = 0;
        schedule->at(schedule, schedule->first_op + i, &scheduled);
        uint32_t count = find_streams(&places, schedule->first_op + i, scheduled.level_bytes[level], streams);
        for (uint32_t s = 0; s < count; s++)
            stored += streams[s].stores ? streams[s].moved : 0;
        if (count > 0 &&
            !put_packets(export, &mesh, &scheduled, scheduled.level_bytes[level] - stored, stored, &turn))
            return false;
    }
    return true;
}
