/* The page of a comparison: what changed, by kind, scope, op and bound, the largest change first. */
class ComparePage {
  constructor(data) {
    const d = this.doc = data.document;
    this.by = ["kind", "scope", "op"].includes(state.by) ? state.by : "kind";
    this.parts = frame(data, { brand: "Leadline comparison", title: this.title(), warnings: d.failures, sections: [["summary", "Summary"], ["changes", "Changes", "What changed"], ["bounds", "Bounds", "What bounds the step"], ["rows", "Rows", "All rows"]] });
    this.summary(); this.bounds();
    this.told = answer(); this.list = el("div");
    this.parts.changes.append(this.told, el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:12px" }, choice("by", "Rows", ["kind", "scope", "op"], this.by, v => { this.by = v; remember("by", v === "kind" ? "" : v); this.show(); })), this.list));
    this.table = new DataTable({ by: "change", label: "Rows of the comparison", noun: "rows", searches: "names", file: "comparison.csv" });
    this.parts.rows.append(this.table.node);
    this.show();
  }
  title() {
    const { a, b } = this.doc, trace = x => baseName(x.trace || x.name), where = x => x.machine || "as recorded";
    return trace(a) !== trace(b) ? a.machine === b.machine && a.machine ? `${trace(a)} → ${trace(b)} on ${a.machine}` : `${trace(a)}, ${where(a)} → ${trace(b)}, ${where(b)}` : `${trace(a)}: ${where(a)} → ${where(b)}`;
  }
  rows() { return { kind: this.doc.contributions, scope: this.doc.by_scope, op: this.doc.by_op }[this.by] || []; }
  name(r) { return this.by === "kind" ? r.kind : this.by === "scope" ? r.scope || "no scope" : `${r.kind} ${r.scope || ""}`.trim(); }
  summary() {
    const { a, b, difference_s: d, growth, matched_share: m, contributions: c } = this.doc, most = c[0], side = x => `${baseName(x.trace || x.name)}${x.machine ? " on " + x.machine : ", as recorded"}`;
    const pair = (name, get, unit, note) => { const x = get(a), y = get(b); return fact(name, x === null || x === undefined || y === null || y === undefined ? "not known" : x === y ? unit(x) : `${unit(x)} → ${unit(y)}`, note || (x && y && x !== y ? `${(y / x).toFixed(3)}x` : x === y ? "the same" : null)); };
    this.parts.summary.append(answer(d === 0 ? "B takes as long as A." : ["B takes ", find(`${seconds(Math.abs(d))} ${d > 0 ? "longer" : "less"}`), ` per step than A, ${growth === null ? "" : percent(Math.abs(growth))} ${d > 0 ? "more" : "less"}.`, most && most.difference_s ? [` Most of it is `, find(most.kind), `: ${signed(most.difference_s)}.`] : ""]),
      facts(pair("time per step", x => x.time_s, seconds), pair("FLOPs per step", x => x.flops, x => si(x, "FLOP")), pair("bytes per step", x => x.bytes, traffic), pair("peak memory", x => x.peak_bytes, capacity)),
      el("p", { style: "margin-top:12px;max-width:none" }, el("strong", {}, "A"), ` ${side(a)}. `, el("strong", {}, "B"), ` ${side(b)}. `, m === null || m === undefined ? "" : `Ops of ${percent(m)} of the time are matched by scope and signature.`));
  }
  /* From A's time to B's, one change after the other. */
  waterfall(rows) {
    const { a, b } = this.doc, shown = rows.slice(0, 12), rest = rows.slice(12).reduce((s, r) => s + r.difference_s, 0) + (this.doc.other_s || 0) * (this.by === "kind" ? 1 : 0), steps = [];
    let at = a.time_s; for (const r of shown) { steps.push([this.name(r), at, at += r.difference_s, r]); }
    const left = b.time_s - at; if (Math.abs(left) > 1e-6 * Math.max(a.time_s, b.time_s)) { steps.push([rows.length > 12 ? `${rows.length - 12} others, overlap and waits` : "overlap and waits", at, b.time_s, null]); }
    const most = Math.max(a.time_s, b.time_s, ...steps.flatMap(s => [s[1], s[2]]));
    const row = (name, from, to, value, slot, note) => el("li", { class: "row" }, nameOf(name), el("span", { class: "both plain" }, el("i", { style: `left:${100 * Math.min(from, to) / most}%;width:max(2px,${100 * Math.abs(to - from) / most}%);background:${css(slot)}` })), el("span", { class: "num" }, value), el("span", { class: "num mute" }, note));
    return el("ul", { class: "rows", "aria-label": "From A to B" }, row("A", 0, a.time_s, seconds(a.time_s), "grey", ""), steps.map(([n, f, t, r]) => row(n, f, t, signed(t - f), t > f ? "orange" : "teal", r && r.growth !== null ? (r.growth > 0 ? "+" : "−") + percent(Math.abs(r.growth)) : "")), row("B", 0, b.time_s, seconds(b.time_s), "grey", ""));
  }
  show() {
    const rows = this.rows(), grew = rows.filter(r => r.difference_s > 0).length, fell = rows.filter(r => r.difference_s < 0).length, by = this.by;
    this.told.replaceChildren(`${count(rows.length)} ${by}s: ${count(grew)} grew, ${count(fell)} shrank, ${count(rows.length - grew - fell)} ${rows.length - grew - fell === 1 ? "is" : "are"} as before. Steps lead from A's time to B's, the largest change first.`);
    this.list.replaceChildren(rows.length ? this.waterfall(rows) : el("p", {}, "The documents have no ops: sim --json --per-op writes them."), legendOf([["longer in B", "orange"], ["shorter in B", "teal"], ["whole step", "grey"]]));
    const word = (key, name, get) => ({ key, name, words: true, value: i => get(rows[i]) || "" });
    const columns = by === "kind" ? [word("kind", "kind", r => r.kind)] : by === "scope" ? [word("scope", "scope", r => r.scope || "no scope")] : [word("kind", "kind", r => r.kind), word("scope", "scope", r => r.scope), word("phase", "phase", r => r.phase)];
    this.table.set(rows.length, [...columns, { key: "a", name: "A", csv: "a_s", value: i => rows[i].a_s, text: (i, x) => seconds(x) }, { key: "b", name: "B", csv: "b_s", value: i => rows[i].b_s, text: (i, x) => seconds(x) }, { key: "change", name: "change", csv: "difference_s", value: i => Math.abs(rows[i].difference_s), text: i => signed(rows[i].difference_s) },
      { key: "growth", name: "growth", value: i => rows[i].growth, text: (i, x) => x === null ? "new" : (x > 0 ? "+" : x < 0 ? "−" : "") + percent(Math.abs(x)) }, { key: "na", name: "ops in A", csv: "a_count", value: i => rows[i].a_count, text: (i, x) => amount(x) }, { key: "nb", name: "ops in B", csv: "b_count", value: i => rows[i].b_count, text: (i, x) => amount(x) },
      ...(by === "op" ? [word("sa", "signature in A", r => r.a_signature), word("sb", "signature in B", r => r.b_signature)] : [])], null, i => this.name(rows[i]) + " " + (rows[i].a_signature || "") + " " + (rows[i].b_signature || ""));
  }
  bounds() {
    const rows = this.doc.by_bound.filter(r => r.a_s > 0 || r.b_s > 0), { a, b } = this.doc, most = Math.max(a.time_s, b.time_s), slot = r => ({ compute: "orange", network: "violet", host: "gold", overhead: "rose", dependency: "grey" }[r.bound] || "blue");
    const strip = (name, key, all) => el("li", { class: "row" }, nameOf(name), el("span", { class: "bar", style: "height:18px" }, el("span", { class: "stack", style: `height:18px;margin:0;width:${100 * all / most}%` }, rows.map(r => el("i", { title: `${r.bound} ${seconds(r[key])}`, style: `width:${100 * r[key] / all}%;background:${css(slot(r))}` })))), el("span", { class: "num" }, seconds(all)), el("span"));
    const top = rows.slice().sort((p, q) => Math.abs(q.difference_s) - Math.abs(p.difference_s))[0];
    this.parts.bounds.append(answer(top && top.difference_s ? ["Time bound by ", find(top.bound), ` changed most: ${seconds(top.a_s)} → ${seconds(top.b_s)}.`] : "What bounds the steps is the same, or not known of recorded times."), rows.length ? el("div", { class: "panel" }, el("ul", { class: "rows", "aria-label": "Time by what bounds it" }, strip("A", "a_s", a.time_s), strip("B", "b_s", b.time_s)), el("ul", { class: "legend" }, rows.map(r => el("li", {}, el("i", { class: "key", style: "background:" + css(slot(r)) }), `${r.bound} ${signed(r.difference_s)}`)))) : "");
  }
}
const signed = s => (s > 0 ? "+" : s < 0 ? "−" : "") + seconds(Math.abs(s));
views.compare = data => { new ComparePage(data); };
