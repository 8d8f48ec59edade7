/* SPDX-License-Identifier: Apache-2.0 */
/* What all formats share: files in, traces out, and back. */
#ifndef LL_TRACER_CONVERT_CONVERT_H
#define LL_TRACER_CONVERT_CONVERT_H

#include "tracer/base/diag.h"
#include "tracer/base/str.h"
#include "tracer/ir/trace.h"
#include "tracer/record/host.h"
#include "tracer/record/recorder.h"

/* When ops run where: as recorded, or as somebody has simulated them. What exporters need of either, as plain
 * data. */

enum { LL_SCHEDULE_LEVELS = 16 }; /* most levels of memory */

struct ll_scheduled {
    double start_s, time_s; /* from when it could begin until it is over */
    double active_s; /* the last part of time_s, in which it runs; before that it waits for its launch */
    double launch_start_s, launch_s; /* when the host launches it; launch_s 0: nobody does, or nobody knows */
    uint32_t process, track;
    const char *bound;                      /* what it is bound by; NULL: nobody knows */
    double level_bytes[LL_SCHEDULE_LEVELS]; /* traffic of each level of memory */
    double energy_j;                        /* what it takes beside static power; NaN: nobody knows */
};

struct ll_op_schedule {
    const char *name;             /* of the machine; NULL: as recorded */
    const char *const *processes; /* names of the devices; NULL: there is one, which needs no name */
    uint32_t process_count;       /* at least 1 */
    const char *const *tracks;    /* the names of what ops of each process run on */
    uint32_t track_count;
    uint32_t first_op, op_count;   /* the ops of the trace that are scheduled */
    uint32_t level_count;          /* of memory whose traffic is known, at most LL_SCHEDULE_LEVELS */
    const char *const *levels;     /* their names */
    const double *level_peaks_Bps; /* their bandwidths; NULL: nobody knows */
    double static_w;               /* power that flows all the time; NaN: nobody knows */
    /* Fills what is known of an op; *scheduled is zero but for energy_j, which is NaN. Pure. */
    void (*at)(const struct ll_op_schedule *schedule, uint32_t op, struct ll_scheduled *scheduled);
    const void *context; /* of `at` */
};

/* Files of others become traces, and traces files of others: what all formats (formats.def) share.
 *
 * An importer gets its files as bytes that are already in memory, reads what it needs, tells the facts, opens
 * the trace with ll_import_begin and records op after op. It complains about all that is wrong with the
 * input; what was recorded of an import that fails is thrown away. Ops of formats that know no times are
 * recorded without, as in a dry run. An exporter appends to a text and lets go of it now and then. One thread
 * at a time. */

/* A file, whole in memory; bytes may be NULL when there are none. */
struct ll_input_file {
    const char *path; /* for complaints */
    const uint8_t *bytes;
    uint64_t size;
};

/* Reads a file of up to 16 GiB into the arena, or up to 1 GiB of a pipe; what gzip or zstd has compressed is
 * unpacked there; LL_IS_DEVICE for what may never end. */
enum ll_status ll_input_open(const char *path, struct ll_arena *arena, struct ll_input_file *input);

/* The format of formats.def, or hf (a language model's configuration), that a file is of, by what is in its
 * first part; NULL when it looks like none of them. The name may be of one that cannot be read here. Pure. */
const char *ll_format_detect(const uint8_t *bytes, uint64_t size);

/* Opens a network as ll_input_open does, but reads nothing of the elements of large constants, which are
 * zeros then. False when the file looks like no network: then nothing was opened. */
bool ll_onnx_open(const char *path, struct ll_arena *arena, struct ll_input_file *input,
                  enum ll_status *status);

/* What the user says about an import or an export besides the files: -p key=value. */
struct ll_choice {
    const char *key, *value;
    bool taken; /* the format knows such a key */
};

struct ll_import {
    /* The caller's. */
    const struct ll_input_file *inputs; /* at least one */
    uint64_t input_count;
    struct ll_choice *choices; /* each -p of the user, in order */
    uint64_t choice_count;
    bool allow_opaque;  /* keep operators that nobody has a rule for, as moving their bytes */
    const char *output; /* path of the trace to write */
    struct ll_diags *diags;
    struct ll_diags *notes; /* what is worth a word but no error; NULL: nobody listens */
    /* Told now and then how much of a pass over the input is done, from 0 to 1; NULL: nobody listens. */
    void (*progress)(void *context, const char *pass, double done);
    void *context; /* of `progress` */

    /* The importer's; starts as zeros. All that lives until the end of the import lives in the arena. */
    struct ll_arena arena;
    struct ll_facts facts;        /* of the header, to be added before ll_import_begin */
    struct ll_recorder *recorder; /* NULL before ll_import_begin */
    uint64_t op_count;            /* recorded so far */
    uint64_t looks;               /* of ll_import_progress */
    enum ll_status status;        /* a trouble of the world, LL_OK until one is met */
};

/* False after complaints, or with import->status set. */
typedef bool ll_importer(struct ll_import *import);

/* Runs an importer and closes the trace, unless there is no op in it. The trace at import->output is there
 * in full when it is true; what stood there before stays as it is otherwise. Releases all that the import
 * took, but not the inputs. */
bool ll_import_run(ll_importer *importer, struct ll_import *import);

/* The value of a choice, the last one given, or NULL; the format knows the key from then on. */
const char *ll_import_choice(struct ll_import *import, const char *key);

/* The same as a count from least to most. False after a complaint; otherwise when not given. */
bool ll_import_count(struct ll_import *import, const char *key, uint64_t least, uint64_t most,
                     uint64_t otherwise, uint64_t *count);

/* Opens the trace, with import->facts and who made it as its header. False after complaints about choices
 * that nobody has asked for, or with import->status set. Once in an import, before anything is recorded. */
bool ll_import_begin(struct ll_import *import);

/* `done` of `count` parts of a pass ("reading", "recording") over the input are done; cheap enough to be
 * called for each part. */
void ll_import_progress(struct ll_import *import, const char *pass, uint64_t done, uint64_t count);

/* Says that memory ran out. Always false. */
bool ll_import_no_memory(struct ll_import *import);

/* A tensor of the trace that is being made. */
struct ll_imported {
    uint32_t tensor; /* the recorder's number */
    struct ll_shape shape;
};

/* A tensor that no op made. */
struct ll_imported ll_import_tensor(struct ll_import *import, const char *name, const struct ll_shape *shape,
                                    enum ll_memory_class memory);

/* An op to record. Outputs follow from inputs and attributes, or are `given` where the op table says so;
 * `names` are theirs (NULL: none has one), and all are activations unless `memory` says otherwise. */
struct ll_import_op {
    enum ll_op_kind kind;
    enum ll_phase phase;
    const char *scope;
    const struct ll_imported *in;
    uint32_t in_count, attr_count, given_count, control_count;
    const struct ll_attr *attrs;
    const struct ll_shape *given;
    const enum ll_dtype *dtype; /* of the first output, where it is not what the op table gives; else NULL */
    const char *const *names;
    enum ll_memory_class memory;
    const uint32_t *controls;
    uint32_t thread;
    uint64_t start_ns, duration_ns;
};

/* Records it. Writes its outputs to out (room for LL_MAX_OUTPUTS, or all that are given) unless out is NULL.
 * NULL, or the sentence that says why there can be no such op; static storage, or in import->arena. A trouble
 * of the recorder is no matter: the import fails at its end. */
const char *ll_import_record(struct ll_import *import, const struct ll_import_op *op,
                             struct ll_imported *out);

/* The same without recording: the shapes of the outputs, with LL_NONE for their numbers. */
const char *ll_import_look(struct ll_import *import, const struct ll_import_op *op, struct ll_imported *out);

struct ll_export {
    /* The caller's. */
    const struct ll_trace *trace; /* NULL: of an exporter that writes something else */
    struct ll_choice *choices;    /* each -p of the user, in order */
    uint64_t choice_count;
    int file;         /* where to write to; stays open */
    const char *path; /* its name, by whose ending some choose a format; NULL: standard output */
    const struct ll_op_schedule *schedule; /* when ops run, as somebody simulated it; NULL: as recorded */
    struct ll_diags *diags;

    /* The exporter's; starts as zeros. */
    struct ll_arena arena;
    struct ll_str out; /* text that waits to be written */
    enum ll_status status;
};

/* False after complaints, or with export->status set. */
typedef bool ll_exporter(struct ll_export *export);

/* Runs an exporter and writes what is left in export->out. Releases all that the export took. False after
 * complaints, or with export->status set, also where the file cannot take it all. */
bool ll_export_run(ll_exporter *exporter, struct ll_export *export);

/* When the ops run: as simulated, where somebody did, else as recorded. NULL after complaining that nothing
 * has a time, or with export->status set. */
const struct ll_op_schedule *ll_export_schedule(struct ll_export *export);

/* As for imports; ll_export_ready is false after complaints about choices that nobody has asked for. */
const char *ll_export_choice(struct ll_export *export, const char *key);
bool ll_export_ready(struct ll_export *export);

/* Writes export->out to the file when it has become long. False when that fails; then the export is over. */
bool ll_export_spill(struct ll_export *export);

struct ll_format {
    const char *name, *doc;
    ll_importer *import; /* NULL: cannot be read */
    ll_exporter *export; /* NULL: cannot be written */
    bool scheduled;      /* what is written tells when ops run */
};

/* The rows of formats.def, ended by one without a name; static storage. */
extern const struct ll_format ll_formats[];

/* What the rows name; a row that can only be read or written has one of the two. */
#define LL_FORMAT(word, ...) ll_importer ll_import_##word;
#include "tracer/convert/formats.def"
#undef LL_FORMAT
#define LL_FORMAT(word, ...) ll_exporter ll_export_##word;
#include "tracer/convert/formats.def"
#undef LL_FORMAT

struct ll_series {
    struct ll_import *import;
    uint32_t ops;      /* recorded so far: the next one waits for the last of them */
    uint64_t clock_ns; /* when the next op begins; 0 while nobody has measured any */
    /* Of the op to record. */
    const char *scope; /* NULL: none */
    enum ll_phase phase;
    uint64_t duration_ns; /* taken by the next op that is recorded, zero afterwards */
};

/* Records an op, with the scope, phase and time of the series; `out` may be NULL. As ll_import_record. */
const char *ll_series_record(struct ll_series *series, const struct ll_import_op *op,
                             struct ll_imported *out);

/* Whole nanoseconds of a time that a file tells, zero for what is no time; LL_NO_FIT past 64 bits, with which
 * no op is recorded. */
uint64_t ll_series_ns(double time_ns);

/* A tensor that no op made, of these dimensions. */
struct ll_imported ll_series_tensor(struct ll_series *series, enum ll_memory_class memory,
                                    enum ll_dtype dtype, unsigned rank, const uint64_t *dims);

/* The choice `dtype`, or otherwise. False after a complaint. */
bool ll_series_dtype(struct ll_import *import, enum ll_dtype otherwise, enum ll_dtype *dtype);

/* The name of the first input file, without folders and what is behind its first dot; `otherwise` when
 * nothing is left, or memory ran out. */
const char *ll_import_stem(struct ll_import *import, const char *otherwise);

/* Steps of a file that marks none: what it repeats from its beginning to its end. */

/* The shortest stretch that the others repeat, as looks compare (equal numbers look the same); the last one
 * may be cut off. count when not even two fit, or memory ran out. Linear in the count (Knuth, Morris and
 * Pratt, 1977). Pure. */
uint64_t ll_period(const uint64_t *looks, uint64_t count);

/* As long as the choice `steps` says, which gives their number, or as ll_period finds; *chosen: the choice
 * was given. False after a complaint that it is no number, or that nothing repeats itself so often. */
bool ll_period_of_steps(struct ll_import *import, const uint64_t *looks, uint64_t count, uint64_t *period,
                        bool *chosen);

#endif
