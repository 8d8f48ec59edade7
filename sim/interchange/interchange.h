/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of other tools as machine files, and machine files as theirs.
 *
 * Formats (formats.def): hardware of ZigZag and systems of Stream; architectures of Timeloop 0.4 with the
 * tables of Accelergy, constraints, problems and mappings; configurations of SCALE-Sim; networks and systems
 * of ASTRA-sim. None of them says what another one says. What is read here and has no place there is listed,
 * key by key, with the place where it stands and the reason; so is what had to be assumed.
 *
 * An import ends in the text of a machine file, so that what was taken can be read, changed and simulated as
 * any machine. What an export writes comes back equal by an import.
 *
 * All functions are thread-safe: what they keep lives in the caller's arena. */
#ifndef LL_SIM_INTERCHANGE_INTERCHANGE_H
#define LL_SIM_INTERCHANGE_INTERCHANGE_H

#include "sim/machine/machine.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

/* A file of the command line: `name` for complaints, `text` ends in a NUL. */
struct ll_peer_file {
    const char *name, *text;
    size_t length;
};

/* What did not cross: a key, by its path in what was read; where it stands (line 0: in no line); why. */
struct ll_left {
    const char *key, *why;
    struct ll_place place;
    bool assumed; /* it is in what was written, and was not in what was read */
    struct ll_left *next;
};

/* In the order of files and lines; zeroed to begin with. Past LL_LEFT_LIMIT entries are counted, not kept. */
enum { LL_LEFT_LIMIT = 2000 };
struct ll_left_list {
    struct ll_left *first, *last;
    size_t count, assumed; /* all entries; those of them that were assumed */
};

enum { LL_PEER_OUTPUTS = 2 };

/* A format: its name, the files that it is made of, for the help, how many there may be, and the ending of
 * each file that an export writes. */
struct ll_peer_format {
    const char *name, *files;
    size_t most_files;
    const char *endings[LL_PEER_OUTPUTS]; /* the second one NULL where one file says all */
};

/* The i-th format; NULL behind the last. Static storage. */
const struct ll_peer_format *ll_peer_format_at(size_t i);

/* What an import reads. */
struct ll_peer_import {
    const struct ll_peer_file *files;
    size_t count; /* at least 1 */
    /* A machine that lies under what the files say, as `inherits` names it; NULL: none. */
    const char *device;
    bool closed; /* files that these name are not opened: they must be among them */
    /* Whether a further file that is read stays as it is; NULL: all do. */
    bool (*spares)(const void *context, const char *path);
    const void *context;
};

/* Adds the text of a machine file. False after complaints. */
bool ll_peer_import(const struct ll_peer_format *format, const struct ll_peer_import *import,
                    struct ll_arena *arena, struct ll_str *yaml, struct ll_left_list *left,
                    struct ll_diags *diags);

/* Adds the texts of the format's files, one for each of its endings. False after complaints. */
bool ll_peer_export(const struct ll_peer_format *format, const struct ll_machine *machine,
                    struct ll_arena *arena, struct ll_str out[LL_PEER_OUTPUTS], struct ll_left_list *left,
                    struct ll_diags *diags);

#endif
