/* SPDX-License-Identifier: Apache-2.0 */
/* Every op of a trace as an object of JSON, a line each: what `leadline dump` prints. */
#include "tracer/base/json.h"
#include "tracer/convert/convert.h"

static void dump_shape(struct ll_json *json, const struct ll_shape *shape)
{
    ll_json_put_text(json, "dtype", ll_dtype_name((enum ll_dtype)shape->dtype));
    ll_json_key(json, "dims");
    ll_json_open_list(json);
    for (unsigned i = 0; i < shape->rank; i++)
        ll_json_count(json, shape->dim[i]);
    ll_json_close_list(json);
    ll_json_key(json, "roles");
    ll_json_open_list(json);
    for (unsigned i = 0; i < shape->rank; i++)
        ll_json_text(json, ll_role_name((enum ll_role)shape->role[i]));
    ll_json_close_list(json);
}

static void dump_tensor(struct ll_json *json, const struct ll_trace *trace, uint32_t id)
{
    const struct ll_desc *desc = &trace->descs[trace->tensors[id].desc];
    ll_json_open_object(json);
    ll_json_put_count(json, "id", id);
    ll_json_put_text(json, "name", trace->strings[desc->name]);
    dump_shape(json, &desc->shape);
    ll_json_put_text(json, "class", ll_memory_name((enum ll_memory_class)desc->memory));
    ll_json_put_count(json, "storage", trace->tensors[id].storage);
    ll_json_close_object(json);
}

static void dump_attrs(struct ll_json *json, const struct ll_op_view *view)
{
    ll_json_key(json, "attrs");
    ll_json_open_object(json);
    for (uint32_t i = 0; i < view->attr_count; i++) {
        enum ll_attr_key key = (enum ll_attr_key)view->attrs[i].key;
        ll_json_key(json, ll_attr_name(key));
        if (ll_attr_is_real(key))
            ll_json_number(json, view->attrs[i].real);
        else
            ll_json_integer(json, view->attrs[i].count);
    }
    ll_json_close_object(json);
}

static void dump_tensors(struct ll_json *json, const struct ll_trace *trace, uint32_t op)
{
    const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
    ll_json_key(json, "inputs");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < view->input_count; i++)
        dump_tensor(json, trace, ll_op_input(trace, op, i));
    ll_json_close_list(json);
    ll_json_key(json, "outputs");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < view->output_count; i++)
        dump_tensor(json, trace, ll_op_output(trace, op, i));
    ll_json_close_list(json);
}

static void dump_counts(struct ll_json *json, const struct ll_form *form, const struct ll_op *op)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {
        {"flops", form->flops},     {"bytes_read", form->bytes_read}, {"bytes_written", form->bytes_written},
        {"start_ns", op->start_ns}, {"duration_ns", op->duration_ns}, {"thread", op->thread}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ll_json_put_count(json, counts[i].key, counts[i].count);
    }
}

static void dump_op(struct ll_str *out, const struct ll_trace *trace, const struct ll_deps *deps,
                    uint32_t seq)
{
    const struct ll_op *op = &trace->ops[seq];
    const struct ll_form *form = &trace->forms[op->form];
    struct ll_json json = {.out = out};
    ll_json_open_object(&json);
    ll_json_put_count(&json, "seq", seq);
    ll_json_put_text(&json, "kind", trace->strings[form->kind_name]);
    ll_json_put_text(&json, "phase", ll_phase_name(form->phase));
    ll_json_put_text(&json, "scope", trace->strings[form->scope]);
    ll_json_put_count(&json, "step", op->step);
    dump_tensors(&json, trace, seq);
    dump_attrs(&json, &form->view);
    dump_counts(&json, form, op);
    ll_json_key(&json, "deps");
    ll_json_open_list(&json);
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++)
        ll_json_count(&json, deps->ops[i]);
    ll_json_close_list(&json);
    ll_json_key(&json, "edges");
    ll_json_open_list(&json);
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++)
        ll_json_text(&json, ll_edge_name(ll_edge_of(trace, seq, deps->ops[i])));
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    ll_str_add(out, "\n");
}

bool ll_export_JSONL(struct ll_export *export)
{
    const struct ll_trace *trace = export->trace;
    const struct ll_deps *deps = ll_trace_deps(trace, &export->arena);
    if (!deps)
        export->status = LL_NO_MEMORY;
    bool goes_on = deps && ll_export_ready(export);
    for (uint32_t seq = 0; goes_on && seq < trace->op_count; seq++) {
        dump_op(&export->out, trace, deps, seq);
        goes_on = ll_export_spill(export);
    }
    return goes_on;
}
