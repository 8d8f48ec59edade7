/* The page of a trace: totals, op kinds, memory over op order, host. */
const MEASURES = { FLOP: ["flops", x => si(x, "FLOP")], bytes: ["bytes", traffic], time: ["time_s", seconds], count: ["count", amount] };

class InfoPage {
  constructor(data) {
    const d = this.doc = data.document, timed = d.ops_time_s > 0;
    this.measures = Object.keys(MEASURES).filter(m => m !== "time" || timed);
    this.what = this.measures.includes(state.what) ? state.what : timed ? "time" : "FLOP"; this.by = state.by === "class" || state.by === "phase" ? state.by : "kind";
    this.parts = frame(data, { brand: "Leadline trace", title: `${data.title}${d.model ? ", " + d.model : ""}${d.mode ? ", " + d.mode : ""}`, warnings: d.warnings, sections: [["summary", "Summary"], ["kinds", "Kinds", "Op kinds"], ["memory", "Memory", "Memory over op order"], ["host", "Host", "Host and header"]] });
    this.summary(); this.kinds(); this.memory(); this.host();
  }
  summary() {
    const d = this.doc, f = d.footprint, classes = f.by_class ? Object.entries(f.by_class).filter(e => e[1] > 0).sort((a, b) => b[1] - a[1]) : [];
    this.parts.summary.append(answer(`A step has ${amount(d.ops)} ops and computes `, find(si(d.flops, "FLOP")), ` on ${traffic(d.bytes)}, ${digits(d.bytes ? d.flops / d.bytes : 0)} FLOP/B.`, d.ops_time_s > 0 ? ` Ops take ${seconds(d.ops_time_s)}.` : " It was recorded without times."),
      facts(fact("FLOPs per step", si(d.flops, "FLOP"), `${amount(d.steps)} complete step${d.steps === 1 ? "" : "s"}`, true), fact("bytes per step", traffic(d.bytes), "each input read once, each output written once"), fact("peak memory", f.peak_bytes === null ? "not known" : capacity(f.peak_bytes), classes.length ? `${classes[0][0]} ${capacity(classes[0][1])}` : null), fact("parameters", d.parameters ? count(d.parameters) : "none", d.batch ? `batch ${count(d.batch)}` : "batch not known"),
        fact("ops per step", amount(d.ops)), fact("time per step", d.wall_s > 0 ? seconds(d.wall_s) : "not recorded", d.wall_s > 0 ? `${si(d.flops / d.wall_s, "FLOP/s")}; ops cover ${percent(d.ops_time_s / d.wall_s)}` : null), fact("recording an op took", d.record_ns_per_op > 0 ? seconds(d.record_ns_per_op * 1e-9) : "not known"), fact("file", traffic(d.file_bytes), d.condition)));
  }
  kinds() {
    const into = this.parts.kinds, told = answer(), list = el("div");
    const show = () => {
      const [key, unit] = MEASURES[this.what], sums = new Map();
      for (const k of this.doc.by_kind) { const name = this.by === "class" ? k.class || "without class" : k[this.by], g = sums.get(name) || { name, x: 0, classes: new Map() }; g.x += k[key]; g.classes.set(k.class, (g.classes.get(k.class) || 0) + k[key]); sums.set(name, g); }
      const rows = [...sums.values()].filter(g => g.x > 0).sort((a, b) => b.x - a.x), all = rows.reduce((s, g) => s + g.x, 0) || 1, slot = g => CLASS_COLOURS[[...g.classes].sort((a, b) => b[1] - a[1])[0][0]] || "grey";
      told.replaceChildren(...(rows.length ? [find(rows[0].name), ` has ${percent(rows[0].x / all)} of the ${this.what === "count" ? "ops" : this.what === "FLOP" ? "FLOPs" : this.what} of a step, ${unit(rows[0].x)}.`] : [`No op has any ${this.what}.`]));
      list.replaceChildren(stack(rows.map(g => [g.name, g.x / all, slot(g)])), bars(rows.slice(0, 30).map(g => [g.name, g.x, unit(g.x), percent(g.x / all), slot(g)]), rows.length ? rows[0].x : 1, "Op kinds"), rows.length > 30 ? el("p", { class: "mute" }, `${rows.length - 30} more have ${percent(rows.slice(30).reduce((s, g) => s + g.x, 0) / all)}.`) : "",
        legendOf([...new Map(this.doc.by_kind.map(k => [k.class || "without class", CLASS_COLOURS[k.class] || "grey"]))]));
    };
    const table = new DataTable({ by: this.what === "time" ? "time" : "flops", label: "Op kinds by phase", noun: "kinds", searches: "kind, class, phase", file: "kinds.csv", height: 420 }), k = this.doc.by_kind, word = key => ({ key, name: key === "kind" ? "op kind" : key, words: true, value: i => k[i][key] || "none" });
    into.append(told, el("div", { class: "panel", style: "margin-bottom:16px" }, el("div", { class: "controls", style: "margin-bottom:12px" }, choice("by", "Group by", ["kind", "class", "phase"], this.by, v => { this.by = v; remember("by", v === "kind" ? "" : v); show(); }), choice("what", "Measure", this.measures, this.what, v => { this.what = v; remember("what", v); show(); })), list), table.node);
    table.set(k.length, [word("kind"), word("class"), word("phase"), { key: "count", name: "count", value: i => k[i].count, text: (i, x) => amount(x) }, { key: "flops", name: "FLOP", csv: "flops", value: i => k[i].flops, text: (i, x) => si(x, "FLOP") }, { key: "bytes", name: "bytes", value: i => k[i].bytes, text: (i, x) => traffic(x) }, { key: "intensity", name: "FLOP/B", csv: "flop_per_byte", value: i => k[i].bytes ? k[i].flops / k[i].bytes : 0, text: (i, x) => digits(x) },
      ...(this.measures.includes("time") ? [{ key: "time", name: "time", csv: "time_s", value: i => k[i].time_s, text: (i, x) => seconds(x) }, { key: "share", name: "share", value: i => k[i].share, text: (i, x) => percent(x) }, { key: "rate", name: "rate", csv: "rate_FLOPps", value: i => k[i].time_s > 0 ? k[i].flops / k[i].time_s : null, text: (i, x) => x === null ? "none" : si(x, "FLOP/s") }] : [])], null, i => `${k[i].kind} ${k[i].class} ${k[i].phase}`);
    show();
  }
  memory() {
    const f = this.doc.footprint, into = this.parts.memory;
    if (f.peak_bytes === null || !f.over_time || !f.over_time.length) return into.append(answer("Memory over op order is not known: the trace does not say which tensors are the same, or has several ranks."));
    const points = f.over_time.map(p => ({ ...p, t: p.seq })), classes = Object.keys(MEMORY_COLOURS).filter(c => points.some(p => p[c] > 0)).sort((a, b) => Math.min(...points.map(p => p[b])) - Math.min(...points.map(p => p[a]))), plot = new MemoryPlot();
    plot.set({ points, classes, end: points[points.length - 1].t + 1, capacity: 0, words: t => t === 0 ? "op 0" : "op " + count(t) });
    into.append(answer("The peak is ", find(capacity(f.peak_bytes)), ` at op ${count(f.peak_seq)}; ${classes.map(c => `${c} ${capacity(f.by_class[c])}`).join(", ")}.`),
      el("div", { class: "grid wide" }, el("div", { class: "panel" }, plot.plot.node, legendOf(classes.map(c => [`${c}, ${capacity(f.by_class[c])} at the peak`, MEMORY_COLOURS[c]]))), plainTable("Alive at the peak", [["alive at the peak", true], ["class", true], ["size"]], (f.alive || []).map(a => [a.name, a.class, capacity(a.bytes)]), 372)),
      (f.allocators || []).length ? el("p", { style: "margin-top:12px;max-width:none" }, "Allocators reserve: " + f.allocators.map(a => `${a.allocator} ${capacity(a.peak_bytes)}`).join(", ") + ".") : "");
  }
  host() {
    const rows = o => Object.entries(o || {}).map(([k, v]) => [k, /(_bytes$|^cache\.)/.test(k) && +v > 0 ? capacity(+v) : /_hz$/.test(k) && +v > 0 ? si(+v, "Hz") : v]), host = rows(this.doc.host), seen = rows(this.doc.summary);
    const block = (title, list, none) => el("div", {}, el("h3", {}, title), list.length ? plainTable(title, [["fact", true], ["value", true]], list, 420) : el("p", {}, none));
    this.parts.host.append(answer(this.doc.host && this.doc.host.cpu ? ["It was recorded on ", find(this.doc.host.cpu), "."] : "No host is known: the trace is a dry run or was imported."), el("div", { class: "grid two" }, block("Recorded on", host, "The trace does not describe its host."), block("Header", rows(this.doc.header), "The trace has no header."), seen.length ? block("Seen of the program", seen, "") : null));
  }
}
views.info = data => { new InfoPage(data); };
