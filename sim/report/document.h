/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents of our own as rows of comma-separated values: what --format csv prints. */
#ifndef LL_SIM_REPORT_DOCUMENT_H
#define LL_SIM_REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/str.h"

/* Adds the rows of a document. `paths` says which lists they are, keys with `/` between them, and `|` between
 * paths: the first one that leads anywhere counts. "results/ops" are the ops of all results. With `+` between
 * paths the rows of all of them follow one another, and the column `list` says of which list a row is. NULL,
 * or where no path leads anywhere: the document is the one row.
 *
 * A column is a key; one of an object within a row has both keys, as memory.peak_bytes. Texts of what is
 * around a row come first in it, as the trace and the machine. What a document is called (`schema`,
 * `version`) is no column. Lists of plain values have spaces between them; lists of objects within a row, and
 * the resolved machine (`config`), are left out. Columns stand in the order in which they first occur, and
 * all rows have all of them. Only the first `most` rows are written, 0 for all. False when memory ran out.
 * The document is one that this program wrote. */
bool ll_document_csv(const char *text, size_t length, const char *paths, uint64_t most, struct ll_str *out);

#endif
