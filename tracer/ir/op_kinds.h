/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of op, numbered in the order of the rows of op_table.def.
 *
 * This header names all of them. The build puts another one of the same path before it for each library
 * and program, which has only the kinds that their sources name (cmake/op_kinds.cmake): so a new row at the
 * end of the table, which moves no number, compiles nothing anew but what names the new kind or binds the
 * rows. Files that bind the rows define LL_ALL_OP_KINDS before they include anything, and get all kinds. */
#ifndef LL_TRACER_IR_OP_KINDS_H
#define LL_TRACER_IR_OP_KINDS_H

enum ll_op_kind {
#define LL_OP(word, ...) LL_OP_##word,
#include "tracer/ir/op_table.def"
#undef LL_OP
    LL_OP_NONE = 319 /* no kind, or none that is known here; kinds are fewer than this */
};

#endif
