/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that is changed and read again, many thousand times.
 *
 * The files are read and merged once. A value is then put into the tree by a slot that was found once, and
 * only those sections of the machine that such values can touch are read again, by the same rows and the same
 * checks as a file's: the machine is the one that --set would have given. A design belongs to one thread. */
#ifndef LL_SIM_MACHINE_DESIGN_H
#define LL_SIM_MACHINE_DESIGN_H

#include "sim/machine/machine.h"
#include "sim/machine/path.h"

struct ll_design;

/* Reads the files of a machine; `which` and folders as of ll_machine_read, the folders living as long. NULL
 * after complaints. Free with ll_design_free. */
struct ll_design *ll_design_new(const char *which, const char *const *folders, struct ll_diags *diags);
void ll_design_free(struct ll_design *design);

/* Takes over another machine's table of measured kernels, which lives as long as the design: the machine of
 * which it was made, whatever is put into the slots. */
void ll_design_take_table(struct ll_design *design, const struct ll_machine *machine);

/* A slot for the value at a path, counted from 0 in the order of the calls; for an item of a list or a
 * section as a whole, values are maps that are laid over what the file says there. A path in two slots, or
 * one within the other's, is refused. False after a complaint at `place`. */
bool ll_design_bind(struct ll_design *design, const char *path, struct ll_place place, struct ll_diags *diags,
                    uint32_t *slot);

/* The row of a slot: what values it takes. */
const struct ll_field *ll_design_field(const struct ll_design *design, uint32_t slot);

/* What is to be put for a value: the value itself, or of a part what the file says with the value laid over.
 * It lives as long as value and design. NULL after a complaint. */
const struct ll_node *ll_design_value(struct ll_design *design, uint32_t slot, const struct ll_node *value,
                                      struct ll_diags *diags);

/* Whether such a value can stand in its slot, by the rows of the schema alone: how it goes with others is
 * asked by ll_design_read. Leaves what is put there as it was. False after complaints. */
bool ll_design_try(struct ll_design *design, uint32_t slot, const struct ll_node *value,
                   struct ll_diags *diags);

/* Puts such a value into its slot; allocates nothing. */
void ll_design_put(struct ll_design *design, uint32_t slot, const struct ll_node *value);

/* Puts a number in the base unit into the slot of a number; allocates nothing. */
void ll_design_put_number(struct ll_design *design, uint32_t slot, double number);

/* Reads what may have changed. The machine, good until the next call; NULL after complaints: there is no such
 * machine. Its sources and hash are those of the file. */
const struct ll_machine *ll_design_read(struct ll_design *design, struct ll_diags *diags);

/* As it was read or tried last. */
const struct ll_machine *ll_design_machine(const struct ll_design *design);

#endif
