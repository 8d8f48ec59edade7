/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file leadline.h
 * @brief Leadline as a library: how long a deep-learning step takes on a machine that is described, and why.
 *
 * A trace is a recorded step, a machine is a description of hardware and software. Both are read or made once
 * and never change; what changes one makes another. A result is a document: its numbers are there by name,
 * and as the JSON that the program `leadline` prints with --json, bit for bit.
 *
 *     const char *const options[] = {"dry-run", "batch=32", NULL};
 *     leadline_trace *trace = leadline_trace_record("resnet50", options);
 *     leadline_machine *machine = leadline_machine_read("h100_sxm", NULL);
 *     leadline_result *result = leadline_simulate(machine, trace, NULL);
 *     double time_s;
 *     if (leadline_number(result, "time_s", &time_s))
 *         printf("%g s a step\n", time_s);
 *     else
 *         fputs(leadline_messages(), stderr);
 *
 * **Units.** Base units everywhere, named by the end of a key: `_s` seconds, `_bytes`, `_j` joules, `_mm2`;
 * shares are fractions. Values that are given may carry theirs, as in "memory.hbm.bandwidth=1.2TB/s".
 *
 * **Options.** Where a function takes options they are those of the command of the same name, as `leadline
 * help sim` lists them, or those that it names: texts "name=value", or "name" of a flag, in an array that
 * NULL ends; NULL is none. Some may be given again ("set=...").
 *
 * **Errors.** What makes something returns NULL when it cannot: leadline_messages() then says why, with file,
 * line and column where there are such, and what was expected; leadline_status() says of which kind the
 * trouble is. A function that is given NULL for an object fails as well; where the call right before it has
 * failed, that one's messages stay.
 *
 * **Threads.** Any thread may call anything at any time. Traces and machines may be used by many threads at
 * once. A result, a space and a builder are for one thread at a time. Messages and status are the calling
 * thread's own. Results do not depend on threads, nor on what was computed before.
 *
 * **Ownership.** What a function named read, record, import, change, with, open, close, simulate, plan,
 * serve, point or run returns is the caller's, to be given to the `_free` of its kind; a trace or machine may
 * be freed before the results made with it. Texts belong to what they were asked of, and live as long.
 */
#ifndef LL_SIM_API_LEADLINE_H
#define LL_SIM_API_LEADLINE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/interpose/leadline.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LEADLINE_API __attribute__((visibility("default")))

/** A recorded workload; immutable. */
typedef struct leadline_trace leadline_trace;
/** A trace that is being built op by op. */
typedef struct leadline_builder leadline_builder;
/** A described machine; immutable. */
typedef struct leadline_machine leadline_machine;
/** Many designs: a sweep file that was read. */
typedef struct leadline_space leadline_space;
/** What was found: a document. */
typedef struct leadline_result leadline_result;

/** What became of a call; the numbers are the exit statuses of the program. */
enum leadline_outcome {
    LEADLINE_DONE = 0,         /**< it is done */
    LEADLINE_FAILED = 1,       /**< a file, memory or the system failed */
    LEADLINE_WRONG = 2,        /**< the input is wrong */
    LEADLINE_INTERRUPTED = 130 /**< it was asked to stop (leadline_stop_on); there may be a result */
};

/** @name The library itself @{ */

/** The version, as "0.2.0". Static storage. */
LEADLINE_API const char *leadline_version(void);

/** What the calling thread's last call had to say, a line each: what is wrong, or what to know of a result.
 * "" where there is nothing. Good until the thread's next call of a function that makes something. */
LEADLINE_API const char *leadline_messages(void);

/** How the calling thread's last call ended. */
LEADLINE_API enum leadline_outcome leadline_status(void);

/** Where machines are looked for by name: folders separated by colons, the first that has one wins: those of
 * the environment's LEADLINE_PATH, then those that came with the library. Good until the next call. */
LEADLINE_API const char *leadline_folders(void);

/** From now on long calls of this thread (record, plan, serve, run) end early once *stop is not 0, as a
 * signal handler may set it. NULL: none does. The library itself catches no signals. */
LEADLINE_API void leadline_stop_on(const volatile sig_atomic_t *stop);
/** @} */

/** @name Traces @{ */

/** Reads a trace (.llt); of a damaged one as much as can be used, with a message. */
LEADLINE_API leadline_trace *leadline_trace_read(const char *path);

/** Records a model that comes along (`leadline models`), or a language model by its name ("qwen3-8b").
 * Options are those of `leadline record MODEL`: "train", "infer", "batch=8", "steps=1", "param=key=value";
 * with "dry-run" nothing is computed, so that a workload of any size can be recorded. */
LEADLINE_API leadline_trace *leadline_trace_record(const char *model, const char *const *options);

/** Reads a file of another tool: ONNX, PyTorch's traces and graphs, Chakra, XLA's HLO, ... (`leadline import
 * --help`).
 * @param format as `leadline import` names it; NULL: what the file looks like.
 * @param options those of `leadline import`: "batch=8", "param=key=value", "allow-opaque" */
LEADLINE_API leadline_trace *leadline_trace_import(const char *format, const char *path,
                                                   const char *const *options);

/** Another trace: as if the workload had run at another batch ("batch=512"), in other types ("as=bf16",
 * "gemm-dtype=f8", "weights-as=int4"), with zeros ("prune=2:4"), without gaps ("gaps=drop"). */
LEADLINE_API leadline_trace *leadline_trace_change(const leadline_trace *trace, const char *const *options);

/** Writes a trace to a file; what was there is replaced when the new one is whole, but for a trace or a
 * database, over which nothing is written. Nonzero when it is done. */
LEADLINE_API int leadline_trace_write(const leadline_trace *trace, const char *path);

/** Frees a trace. NULL is fine. */
LEADLINE_API void leadline_trace_free(leadline_trace *trace);
/** @} */

/** @name Traces built op by op @{
 *
 *     const char *const weight[] = {"class=weight", NULL};
 *     leadline_builder *step = leadline_build_open("layer", NULL);
 *     int64_t in[2] = {leadline_build_tensor(step, "64x512:bf16", NULL),
 *                      leadline_build_tensor(step, "512x512:bf16", weight)};
 *     int64_t gemm = leadline_build_op(step, "matmul", in, 2, NULL);
 *     int64_t product = leadline_build_output(step, gemm, 0);
 *     leadline_build_op(step, "relu", &product, 1, NULL);
 *     leadline_trace *trace = leadline_build_close(step);
 *     leadline_build_free(step);
 *
 * Tensors, and ops, are numbered from 0 as they are added. After a mistake nothing more is added: all later
 * calls fail with its messages, so that it is enough to look at what leadline_build_close returns. */

/** Begins a trace of one step.
 * @param name as documents and pages name it
 * @param options "train" or "infer" (the default), and "batch=8", the samples in the step (1) */
LEADLINE_API leadline_builder *leadline_build_open(const char *name, const char *const *options);

/** Adds a tensor that no op makes.
 * @param shape dimensions and type of its elements, as "64x128:bf16"; ":f32" of a single number. Images are
 * batch, height, width, channels
 * @param options "class=weight", or gradient, activation, optimizer, workspace, input (the default): why it
 * takes memory; "name=TEXT"; "roles=batch,hidden": what its dimensions mean, from the first on, so that the
 * trace can be rescaled and spread: batch, sequence, channel, hidden, heads, vocabulary, spatial, classes,
 * experts, ffn_hidden, or nothing
 * @return its number; -1 when it is wrong */
LEADLINE_API int64_t leadline_build_tensor(leadline_builder *builder, const char *shape,
                                           const char *const *options);

/** Adds an op, behind those that make what it reads.
 * @param kind as `leadline ops` lists them
 * @param inputs numbers of the tensors that it reads, in the order of tracer/ir/op_table.def
 * @param options attributes of the op ("transpose_b=1", "stride_h=2"), and
 * - "out=64x64:f32": what it makes, several with + between them, where inputs do not tell; where they do,
 *   dimensions are checked and types count;
 * - "after=3": the number of an op that it waits for although it reads nothing of it; may be given again;
 * - "phase=backward", or forward (the default), update, input, comm; "scope=encoder/0";
 * - "class=gradient" (activation by default) and "name=TEXT" of what it makes;
 * - "time=12us": what it took where it was measured; ops with times ran one after the other.
 * @return its number; -1 when it is wrong */
LEADLINE_API int64_t leadline_build_op(leadline_builder *builder, const char *kind, const int64_t *inputs,
                                       size_t input_count, const char *const *options);

/** The number of the tensor that an op makes as its i-th, from 0; -1 where there is none. */
LEADLINE_API int64_t leadline_build_output(const leadline_builder *builder, int64_t op, size_t i);

/** The shape of a tensor, as "64x128:bf16". NULL where there is none; good until the next such call. */
LEADLINE_API const char *leadline_build_shape(leadline_builder *builder, int64_t tensor);

/** Ends it, and gives the trace. Nothing can be added any more. */
LEADLINE_API leadline_trace *leadline_build_close(leadline_builder *builder);

/** Frees a builder, closed or not. NULL is fine. */
LEADLINE_API void leadline_build_free(leadline_builder *builder);
/** @} */

/** @name Machines @{ */

/** Reads a machine: a YAML file, DEVICE, DEVICE+STACK or SYSTEM+STACK (`leadline machines`).
 * @param overrides values of its keys, as {"units.array.rows=128", NULL}; NULL: none */
LEADLINE_API leadline_machine *leadline_machine_read(const char *name, const char *const *overrides);

/** The same machine with further overrides, behind those that it was read with. */
LEADLINE_API leadline_machine *leadline_machine_with(const leadline_machine *machine,
                                                     const char *const *overrides);

/** The short name of the device, stack and system: "h100_sxm+vllm". */
LEADLINE_API const char *leadline_machine_name(const leadline_machine *machine);

/** Frees a machine. NULL is fine. */
LEADLINE_API void leadline_machine_free(leadline_machine *machine);
/** @} */

/** @name Asking @{ */

/** How long a step of the trace takes on the machine. Options are those of `leadline sim`, but for files,
 * machines and conditions: "tp=8", "dp=4", ... and "plan=FILE" spread it over devices; "what-if", "per-op",
 * "memory" add to the document; those of leadline_trace_change change the trace first. */
LEADLINE_API leadline_result *leadline_simulate(const leadline_machine *machine, const leadline_trace *trace,
                                                const char *const *options);

/** The fastest ways to spread a step over devices: options of `leadline plan`, as "devices=64",
 * "batch=1024". */
LEADLINE_API leadline_result *leadline_plan(const leadline_machine *machine, const leadline_trace *trace,
                                            const char *const *options);

/** A language-model server under load: options of `leadline serve`, as "model=llama3.1-8b", "rate=10",
 * "tp=2". */
LEADLINE_API leadline_result *leadline_serve(const leadline_machine *machine, const char *const *options);

/** Reads a sweep file, its base machine and its workloads. */
LEADLINE_API leadline_space *leadline_space_open(const char *path);

/** What varies: the parameters with their values, the last one turning fastest in a point's number; the
 * objectives. */
LEADLINE_API leadline_result *leadline_space_about(leadline_space *space);

/** How many points there are: each has a number below that. 0 of NULL. */
LEADLINE_API uint64_t leadline_space_size(const leadline_space *space);

/** Evaluates one point, as `leadline sweep --point` does: its values, whether it is valid, objectives,
 * results. */
LEADLINE_API leadline_result *leadline_space_point(leadline_space *space, uint64_t number);

/** Frees a space. NULL is fine. */
LEADLINE_API void leadline_space_free(leadline_space *space);

/** Any command of the program ("machines", "compare", "sweep", ...), with its options and the words behind
 * them, each ended by NULL or NULL itself. The result is its JSON document, or with "format=text", "csv" or
 * "markdown" its text. Not for `record -- PROGRAM`. */
LEADLINE_API leadline_result *leadline_run(const char *command, const char *const *options,
                                           const char *const *words);
/** @} */

/** @name Results @{ */

/** The document: what the program prints with --json. NULL of NULL. */
LEADLINE_API const char *leadline_json(leadline_result *result);

/** A number or truth value of the document by its path: "time_s", "memory.peak_bytes",
 * "by_kind.matmul.time_s" (an object in a list is named by its first text). Of a simulation the paths begin
 * in its only result.
 * @param value NaN where the document says null: nobody knows
 * @return nonzero where there is such a number */
LEADLINE_API int leadline_number(leadline_result *result, const char *path, double *value);

/** What there was to say beside the document, as leadline_messages() had it. "" for nothing, and of NULL. */
LEADLINE_API const char *leadline_remarks(const leadline_result *result);

/** A page for people, 100 columns wide: of a simulation what `leadline sim` prints, else the document. */
LEADLINE_API const char *leadline_text(leadline_result *result);

/** Frees a result. NULL is fine. */
LEADLINE_API void leadline_result_free(leadline_result *result);
/** @} */

/** The program `leadline` itself: from a command line to an exit status. Once in a process, and alone in it;
 * it prints and catches signals. */
LEADLINE_API int leadline_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
