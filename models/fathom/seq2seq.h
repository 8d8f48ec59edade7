/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of seq2seq.c: the network, and how well it translates. */
#ifndef LL_FATHOM_SEQ2SEQ_H
#define LL_FATHOM_SEQ2SEQ_H

#include "models/data/buckets.h"
#include "models/model.h"
#include "models/nn/chance.h"

enum { LL_SEQ2SEQ_LAYERS = 8 }; /* at most */
struct ll_seq2seq_sizes {
    uint64_t vocabulary, hidden, layers, samples;
};

/* What becomes of a step's output: TAUGHT, the next word to read is the right one; GREEDY, it is the most
 * likely one of those that were written, which are kept. */
enum ll_seq2seq_mode { LL_TAUGHT, LL_GREEDY };

struct ll_seq2seq_call {
    struct ll_seq2seq_sizes sizes;
    enum ll_seq2seq_mode mode;
    const struct ll_batch *batch;
    struct ll_chance *chance; /* NULL: no loss */
};

struct ll_seq2seq_result {
    struct ll_value *loss;   /* NULL without chance */
    struct ll_value **words; /* GREEDY: of each step but the last, [batch] i32, kept */
    struct ll_value *last;   /* the last step's output: with chance and GREEDY the scores of all words */
};

/* Adds the forward pass on a batch to the program being built. */
struct ll_seq2seq_result ll_seq2seq_forward(struct ll_nn *nn, const struct ll_seq2seq_call *call);

/* What the model keeps beside its network: the driver's context. */
struct ll_seq2seq {
    struct ll_corpus corpus;
    struct ll_buckets buckets;
    uint64_t batch, seed;
    struct {
        uint32_t program;
        struct ll_value **words;
    } greedy[LL_MAX_BUCKETS]; /* by bucket: programs that translate what was held back */
};

/* The model's evaluate function: which share of sentences that were held back comes out exactly right, and
 * which share of their words. Writes some of them into translations.txt. */
bool ll_seq2seq_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores);

#endif
