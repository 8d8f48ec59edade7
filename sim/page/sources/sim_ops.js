/* The table of ops, and the derivation of one op's time. */
function opTable(v) {
  const table = new DataTable({ by: "time", label: "Table of ops", noun: "ops", searches: "kind, scope, shape", file: "ops.csv", button: i => "Derivation of op " + count(v.col.first_op + i),
    pick: i => v.pick(v.run[i], i), suffix: () => v.steps > 1 ? ` in ${v.steps} steps` : "" });
  table.fill = () => {
    const r = v.runs, of = (key, name, get, text, more) => ({ key, name, value: i => get(v.run[i], i), text: text && ((i, x) => text(x)), ...more }), word = { words: true };
    table.set(v.run.length, [of("op", "op", (k, i) => v.col.first_op + i, count), of("kind", "kind", k => v.text(r.kind, k), null, word), of("scope", "scope", k => v.text(r.scope, k), null, word), of("phase", "phase", k => v.text(r.phase, k), null, word),
      of("time", "time", k => r.time_s[k], seconds, { csv: "time_s" }), of("share", "% of step", k => r.time_s[k], x => percent(x / v.steps / v.doc.time_s), { csv: null }),
      of("bound", "bound by", k => v.text(r.bound, k), null, word), of("unit", "unit", k => v.text(r.unit, k) || "none", null, word),
      of("util", "utilization", k => r.utilization[k], x => x ? percent(x) : "none", { csv: "utilization" }),
      of("intensity", "FLOP/B", k => r.bytes[k] ? r.flops[k] / r.bytes[k] : 0, digits), of("rate", "rate", k => r.time_s[k] ? r.flops[k] / r.time_s[k] : 0, x => si(x, "FLOP/s"), { csv: "rate_FLOPps" }),
      ...v.col.levels.map((l, n) => of("level" + n, l + " traffic", k => r.traffic[k][n], traffic, { csv: l + "_bytes" })), of("start", "start", (k, i) => v.start[i], seconds, { csv: "start_s" })],
    i => !v.keep || v.keep[v.run[i]], i => { const k = v.run[i]; return [v.text(r.kind, k), v.text(r.scope, k), v.text(r.phase, k), v.text(r.bound, k), r.shapes[k]].join(" "); });
  };
  return table;
}

function derivation(view, run, op) {
  const r = view.runs, d = view.derived.get(run), seq = op === undefined ? r.first[run] : view.col.first_op + op, list = el("dl");
  let group = null;
  (d ? d.lines : []).forEach((line, i) => { const g = d.groups[i]; list.append(el("dt", {}, g !== group ? g : ""), el("dd", {}, line)); group = g; });
  return el("div", { class: "panel derive", role: "region", "aria-label": "Derivation of op " + seq, tabindex: "-1", onkeydown: e => { if (e.key === "Escape") view.unpick(); } },
    el("div", { class: "controls", style: "justify-content:space-between" }, el("h3", {}, `op ${count(seq)}, ${view.text(r.kind, run)}: ${seconds(r.time_s[run])}, bound by ${view.text(r.bound, run)}`),
      el("button", { type: "button", onclick: () => view.unpick() }, "Close")),
    el("p", { class: "mono" }, view.text(r.scope, run)), d ? list : el("div", {}, "The page has derivations of the ops that take the most time. This prints the one of this op: ", command(`${view.data.again} -c ${shell(view.doc.machine)} --explain ${seq} ${shell(view.doc.trace)}`)),
    d && seq !== r.first[run] ? el("p", { class: "mute", style: "margin:8px 0 0" }, `Derived for op ${count(r.first[run])}, which has the same signature, time and bound.`) : null);
}
