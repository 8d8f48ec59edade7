/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from files: our CSV (arrival_s,input_tokens,output_tokens), Azure's (TIMESTAMP,ContextTokens,
 * GeneratedTokens), BurstGPT's (Timestamp, Request tokens, Response tokens), JSON lines of Mooncake
 * (timestamp in ms, input_length, output_length, hash_ids of 512 tokens) and of LLMServingSim
 * (arrival_time_ns, input_toks, output_toks); ShareGPT's JSON list of conversations, whose texts are taken to
 * have a token every four bytes. BurstGPT's requests that failed, without a response, are left out. */
#ifndef LL_SIM_SERVE_REQUEST_FILE_H
#define LL_SIM_SERVE_REQUEST_FILE_H

#include "sim/serve/serve.h"
#include "tracer/base/diag.h"

/* Reads all requests of a file, in the order of their arrival, into the arena; times from the first one on.
 * Without arrivals all are 0. NULL after complaints. Thread-safe. */
const struct ll_request *ll_read_requests(const char *path, struct ll_arena *arena, uint64_t *count,
                                          struct ll_diags *diags);

/* The same of what a file of this name says: so many bytes, and a NUL behind them. */
const struct ll_request *ll_parse_requests(const char *path, const char *bytes, size_t length,
                                           struct ll_arena *arena, uint64_t *count, struct ll_diags *diags);

#endif
