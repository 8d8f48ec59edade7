/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the places from which a foreign program calls: its traces' scopes. */
#ifndef LL_SIM_CLI_FOREIGN_SITE_H
#define LL_SIM_CLI_FOREIGN_SITE_H

#include "tracer/base/arena.h"
#include "tracer/binary/callsite.h"
#include "tracer/interpose/ring_reader.h"

/* Files that were looked into; all zeros to begin with, released by its owner. */
struct ll_sites {
    struct ll_arena arena;
    struct ll_opened_site *opened;
    uint64_t count, capacity;
};

/* For ll_session_settings, with a struct ll_sites as context: library, symbol and line of an address; NULL
 * when memory ran out. The text lives as long as the sites. */
const char *ll_site_text(void *sites, const struct ll_ring_library *library, uint64_t address);

void ll_sites_release(struct ll_sites *sites);

#endif
