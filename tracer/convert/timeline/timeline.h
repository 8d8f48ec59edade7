/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: what runs when, as a file that a viewer opens.
 *
 * A timeline consists of processes (a device, a server). A process has tracks, on which slices lie one behind
 * the other (a stream, a link), and counters. Flows are arrows from a slice to a later one, perhaps of
 * another process. Two formats are written, chosen by the name of the file or by -p format=:
 *
 *       .pftrace   Perfetto's protocol buffers (perfetto.c): smaller, no limit of a browser's JSON reader
 *       .json      Chrome's trace events (chrome.c), for chrome://tracing and other tools
 *
 * A timeline is written while it is made: process after process, and the slices of a process in the order in
 * which they begin. So memory grows with the number of tracks, counters and slices that are open at once, not
 * with the length of the timeline. Slices that overlap on a track lie on tracks of their own beside it
 * ("host (2)"): no viewer can draw slices that cross. Times are whole nanoseconds from the timeline's begin.
 *
 * Errors of memory and of the file end the export (tracer/convert/convert.h); functions do nothing then. One
 * thread at a time. */
#ifndef LL_TRACER_CONVERT_TIMELINE_TIMELINE_H
#define LL_TRACER_CONVERT_TIMELINE_TIMELINE_H

#include "tracer/convert/convert.h"

struct ll_timeline_file;

/* What a slice says beside its name: a text, a whole number, or a real one. */
enum ll_timeline_arg_kind { LL_TIMELINE_TEXT, LL_TIMELINE_COUNT, LL_TIMELINE_NUMBER };

struct ll_timeline_arg {
    const char *name;
    enum ll_timeline_arg_kind kind;
    const char *text; /* of kind TEXT */
    uint64_t count;   /* of kind COUNT */
    double number;    /* of kind NUMBER */
};

/* One end of a flow. The number is the flow's own in the whole timeline and not 0, since a flow cannot fork;
 * the slice from which it comes begins no later than the one to which it goes. */
struct ll_timeline_flow {
    uint64_t id;
    const char *name; /* why the flow is: "data", "launch" */
    bool leaves;      /* it comes from this slice; else it goes there */
    uint64_t to_ns;   /* where it leaves: when the slice begins to which it goes */
};

enum { LL_TIMELINE_ARGS = 16 };

/* A slice; all texts and lists are the caller's and are copied. */
struct ll_timeline_slice {
    uint32_t track;            /* of the process under way */
    uint64_t begin_ns, end_ns; /* begin_ns <= end_ns */
    const char *name;          /* what the viewer writes on it */
    const char *category;      /* what the viewer filters by */
    struct ll_timeline_arg args[LL_TIMELINE_ARGS];
    uint32_t arg_count;
    const struct ll_timeline_flow *flows; /* NULL: none */
    uint32_t flow_count;
};

/* A counter. Its values are whole numbers of steps: value = steps x scale, so that what is added and taken
 * away again leaves nothing. */
struct ll_timeline_counter {
    const char *name;
    const char *unit;  /* "bytes", "GB/s", "%", "W" */
    double scale;      /* more than 0 */
    const char *group; /* counters of one group are parts of a sum: drawn as one stack; NULL: by itself */
};

/* Opens a timeline in the format that the choice `format` names, or else the ending of export->path (JSON
 * where the export goes to standard output). NULL after complaining that there is no such format, or with
 * export->status set. Writes nothing yet. */
struct ll_timeline_file *ll_timeline_open(struct ll_export *export);

/* Writes what is left and frees the timeline; NULL is fine. False, the export being over, where something
 * could not be written; then what was written is not whole. */
bool ll_timeline_close(struct ll_timeline_file *timeline);

/* Ends the process under way and begins another, at time 0, without tracks or counters. */
void ll_timeline_process(struct ll_timeline_file *timeline, const char *name);

/* One more track, or counter, of the process under way: its number in it, from 0. Tracks stand in the viewer
 * in the order in which they are added, counters behind them; those of a group are added in a row. Before the
 * first slice. */
uint32_t ll_timeline_track(struct ll_timeline_file *timeline, const char *name);
uint32_t ll_timeline_counter(struct ll_timeline_file *timeline, const struct ll_timeline_counter *counter);

/* Adds a slice, which begins no earlier than the one before it. False when the export is over. */
bool ll_timeline_slice(struct ll_timeline_file *timeline, const struct ll_timeline_slice *slice);

/* Changes a counter by so many steps, at a time that is no earlier than the begin of the last slice. Changes
 * at one nanosecond are one change. */
void ll_timeline_add(struct ll_timeline_file *timeline, uint32_t counter, uint64_t at_ns, int64_t steps);

/* Whole nanoseconds of a time in seconds, 0 of negative ones. What follows at once begins where the one
 * before ends: both ends are rounded. */
uint64_t ll_timeline_ns(double time_s);

/* Ops as slices. */

/* Texts of a trace's signatures, made when first asked for. Starts as {.trace = trace, .arena = arena}. */
struct ll_timeline_ops {
    const struct ll_trace *trace;
    struct ll_arena *arena;
    struct ll_timeline_op_text {
        const char *name, *inputs, *outputs;
    } * texts; /* by signature */
};

/* Which dependencies are drawn: all, those between tracks, none. */
enum ll_timeline_flows { LL_FLOWS_ALL, LL_FLOWS_CROSS, LL_FLOWS_NONE };

/* The choice `flows`. False after a complaint. */
bool ll_timeline_choose_flows(struct ll_export *export, enum ll_timeline_flows otherwise,
                              enum ll_timeline_flows *flows);

/* Adds counters of what a schedule knows of ops (bandwidths of levels, their share of the peak, power): the
 * number of the first. */
uint32_t ll_timeline_rates(struct ll_timeline_file *timeline, const struct ll_op_schedule *schedule);

/* Counts an op on these counters for as long as its slice, which was added last. */
void ll_timeline_add_rates(struct ll_timeline_file *timeline, uint32_t first,
                           const struct ll_op_schedule *schedule, const struct ll_scheduled *scheduled,
                           const struct ll_timeline_slice *slice);

/* Fills the name ("matmul encoder/layer0/ffn"), category (phase) and arguments (seq, kind, scope, shapes,
 * FLOPs, bytes and, unless NULL, what it is bound by) of an op's slice. False when memory ran out. */
bool ll_timeline_describe(struct ll_timeline_ops *ops, uint32_t op, const char *bound,
                          struct ll_timeline_slice *slice);

#endif
