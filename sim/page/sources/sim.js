/* The page of simulated steps. */
/* What an upgrade changes: a resource doubled, or a cost that is gone. */
const upgrade = g => (g.factor > 0 ? g.factor + "x " : "") + g.label;
const BY = ["kind", "class", "scope", "phase", "bound", "unit"];

class SimPage {
  constructor(data) {
    this.data = data; this.results = data.document.results;
    this.at = Math.min(this.results.length - 1, Math.max(0, +state.m || 0));
    this.by = BY.includes(state.by) ? state.by : "kind"; this.scope = state.in || ""; this.filterBy = null; this.picked = -1;
    this.roofline = new Roofline(run => this.pick(run)); this.timeline = new Timeline((run, i) => this.pick(run, this.col.cores ? this.col.cores.op[i] - this.col.first_op : i, i)); this.memory = new MemoryPlot(); this.table = opTable(this);
    this.colour = state.colour === "bound" ? "bound" : "class";
    this.frame(); this.show();
  }
  text(column, run) { return this.col.texts[column[run]]; }
  name(k) { const r = this.results[k]; return `${baseName(r.trace)} on ${r.machine}`; }
  frame() {
    const many = this.results.length > 1, d = this.data;
    const sections = [...(many ? [["machines", "Side by side"]] : []), ["summary", "Summary"], ["breakdown", "Time", "Time breakdown"], ["roofline", "Roofline"], ["timeline", "Timeline"], ["memory", "Memory", "Memory over time"], ["whatif", "What-if"], ["energy", "Energy and cost"], ["ops", "Ops"]];
    this.parts = frame(d, { brand: "Leadline simulation", title: "", sections, warnings: d.document.warnings,
      controls: many ? [this.select = selection("Show", this.results.map((_, k) => [k, this.name(k)]), this.at, v => this.choose(+v))] : [] });
    this.title = this.parts.heading;
    if (many) this.machines();
    const tools = () => choice("colour", "Colour", ["class", "bound"], this.colour, v => { this.colour = v; remember("colour", v === "class" ? "" : v); this.colours(); });
    this.parts.roofline.append(this.roofAnswer = el("p", { class: "answer" }), el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:8px" }, tools(), el("button", { type: "button", onclick: () => { this.roofline.fit(); repaint(); } }, "Fit")), this.roofline.plot.node, this.legend1 = el("ul", { class: "legend" })));
    this.parts.timeline.append(this.timeAnswer = el("p", { class: "answer" }), el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:8px" }, el("button", { type: "button", onclick: () => { this.timeline.v = [0, this.timeline.end]; repaint(); } }, "Show all"), el("span", { class: "mute" }, "Ctrl and wheel zooms, a drag pans; a pixel that holds many ops shows their mix.")), this.timeline.plot.node, this.legend2 = el("ul", { class: "legend" })));
    this.detail = el("div");
    this.parts.ops.append(this.chips = el("div", { class: "chips" }), this.table.node, this.detail);
  }
  machines() {
    const traces = [...new Set(this.results.map(r => r.trace))];
    this.parts.machines.append(...traces.map(t => {
      const own = this.results.map((r, k) => [r, k]).filter(([r]) => r.trace === t).sort((a, b) => a[0].time_s - b[0].time_s), best = own[0][0].time_s, worst = own[own.length - 1][0].time_s;
      const makeup = own.map(([r]) => el("div", { style: `display:flex;gap:1px;height:14px;width:${100 * r.time_s / worst}%;min-width:2px` }, Object.entries(r.bottlenecks).filter(([, s]) => s > 0.0005).map(([b, s]) => el("i", { title: `${b} ${percent(s)}`, style: `width:${100 * s}%;background:${css(boundColour(b, this.levelsOf(r)))}` }))));
      return el("div", { style: "margin-bottom:16px" }, el("p", { class: "answer" }, `${baseName(t)}: `, el("span", { class: "find" }, own[0][0].machine), own.length > 1 ? ` is the fastest, ${digits(own[1][0].time_s / best)}x ahead of ${own[1][0].machine}.` : ` takes ${seconds(best)} per step.`),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Machines for " + baseName(t) }, el("table", {}, el("thead", {}, el("tr", {}, ["machine", "time per step", "vs. fastest", "bound by", "best upgrade (2x)", "throughput", "peak memory", "energy per step", "make-up"].map((h, i) => el("th", { scope: "col", class: [0, 3, 4, 8].includes(i) ? "l" : null, style: i === 8 ? "min-width:140px;width:24%" : null }, h)))),
          el("tbody", {}, own.map(([r, k], i) => { const [b, s] = this.bound(r), g = (r.what_if || [])[0]; return el("tr", { "data-pick": true, onclick: () => this.choose(k) }, el("th", { scope: "row" }, el("button", { type: "button", class: "pickm", style: "color:var(--link);text-decoration:underline;font-weight:400" }, r.machine)), el("td", { class: i ? null : "best" }, seconds(r.time_s)), el("td", {}, digits(r.time_s / best) + "x"), el("td", { class: "l" }, `${b}, ${percent(s)}`), el("td", { class: "l" }, g ? `${g.label} ${g.speedup.toFixed(2)}x` : "none"), el("td", {}, `${digits(r.throughput)} ${r.throughput_unit}/s`), el("td", {}, r.memory.peak_bytes === null ? "not known" : capacity(r.memory.peak_bytes) + (r.memory.fits === false ? ", does not fit" : "")), el("td", {}, si(r.energy_j, "J")), el("td", { class: "l" }, makeup[i])); })))));
    }), this.boundLegend([...new Set(this.results.flatMap(r => Object.entries(r.bottlenecks).filter(([, s]) => s > 0.0005).map(([b]) => b)))]));
  }
  boundLegend(names) { const levels = this.results.map(r => this.levelsOf(r)); return el("ul", { class: "legend" }, names.map(b => el("li", {}, el("i", { class: "key", style: "background:" + css(boundColour(b, levels.find(l => l.includes(b)) || [])) }), b))); }
  levelsOf(r) { return this.data.columns[this.results.indexOf(r)].levels; }
  bound(r) { return Object.entries(r.bottlenecks).reduce((a, b) => b[1] > a[1] ? b : a); }
  choose(k) { this.at = k; remember("m", k || ""); if (this.select) this.select.querySelector("select").value = k; this.scope = ""; remember("in", ""); this.show(); announce("Showing " + this.name(k)); }
  show() {
    const col = this.col = this.data.columns[this.at], r = this.doc = this.results[this.at];
    this.runs = col.runs; this.run = col.run instanceof Int32Array ? col.run : (col.run = Int32Array.from(col.run)); this.start = col.start_s instanceof Float64Array ? col.start_s : (col.start_s = Float64Array.from(col.start_s));
    this.steps = col.steps; this.derived = new Map(col.derivations.map(d => [d.run, d])); this.keep = null; this.filterBy = null; this.picked = -1;
    this.counts = new Float64Array(this.runs.time_s.length); for (const k of this.run) this.counts[k]++;
    this.title.textContent = document.title = this.name(this.at);
    this.summary(); this.breakdown(); this.gains(); this.energy(); this.remembered(); this.colours(true); this.table.fill(); this.unpick(true); this.showChips();
  }
  summary() {
    const r = this.doc, [b, s] = this.bound(r), g = (r.what_if || [])[0], m = r.memory;
    this.parts.summary.replaceChildren(el("p", { class: "answer" }, "Bound by ", el("span", { class: "find" }, b), `, ${percent(s)} of the time. `, g && g.speedup > 1.005 ? ["Best upgrade: ", el("span", { class: "find", title: g.path }, upgrade(g)), ` gives ${seconds(g.time_s)} per step, ${g.speedup.toFixed(2)}x.`] : "No single upgrade gains more than 0.5 %.", m.fits === false ? el("strong", { class: "find" }, ` Does not fit: ${capacity(m.peak_bytes)} of ${capacity(m.capacity_bytes)}.`) : null),
      el("dl", { class: "facts" }, fact("time per step", seconds(r.time_s), r.time_high_s ? `80 % prediction interval ${seconds(r.time_low_s)} to ${seconds(r.time_high_s)}` : "no prediction interval: not validated as it stands", true),
        fact("time known by", Object.entries(r.shares_of_time).filter(e => e[1] > 0).map(e => `${percent(e[1])} ${e[0]}`).join(", ")),
        fact("throughput", `${digits(r.throughput)} ${r.throughput_unit}/s`, r.tokens_per_s ? `${digits(r.tokens_per_s)} tokens/s` : null), fact("FLOP utilization", percent(r.flop_utilization), si(r.flops / r.time_s, "FLOP/s") + " achieved"),
        fact("arithmetic intensity", digits(r.flops / r.bytes) + " FLOP/B", `${si(r.flops, "FLOP")}, ${traffic(r.bytes)} per step`), fact("device busy", percent(r.device_utilization), `overhead ${percent(r.bottlenecks.overhead || 0)}`),
        fact("peak memory", m.peak_bytes === null ? "not known" : capacity(m.peak_bytes), m.peak_bytes === null ? "the trace does not say which tensors are the same" : `${percent(m.peak_bytes / m.capacity_bytes)} of ${capacity(m.capacity_bytes)}`), fact("energy per step", si(r.energy_j, "J"), r.energy_j === null ? "the machine file has no energy" : `mean power ${si(r.energy_j / r.time_s, "W")}`),
        fact("ops", count(this.run.length / this.steps), this.steps > 1 ? `per step, ${this.steps} steps replayed` : "per step")));
  }
  groups() {
    const sums = new Map(), r = this.runs;
    for (let k = 0; k < r.time_s.length; k++) {
      let name = this.text(r[this.by], k) || (this.by === "unit" ? "no unit" : "no scope"), deeper = false;
      if (this.by === "scope" && r.scope) { const full = this.text(r.scope, k); if (this.scope && full !== this.scope && !full.startsWith(this.scope + "/")) continue; const rest = this.scope ? full.slice(this.scope.length + 1) : full, cut = rest.indexOf("/"); deeper = cut >= 0; name = rest ? (cut < 0 ? rest : rest.slice(0, cut)) : "ops of this scope itself"; }
      const g = sums.get(name) || { name, s: 0, n: 0, deeper: false, by: new Map() }, t = r.time_s[k] * this.counts[k];
      g.s += t; g.n += this.counts[k]; g.deeper = g.deeper || deeper; const c = this.text(r.class, k); g.by.set(c, (g.by.get(c) || 0) + t); sums.set(name, g);
    }
    return [...sums.values()].sort((a, b) => b.s - a.s);
  }
  slotOf(g) { if (this.by === "bound") return boundColour(g.name, this.col.levels); let best = ["", -1]; for (const e of g.by) if (e[1] > best[1]) best = e; return CLASS_COLOURS[best[0]] || "grey"; }
  breakdown() {
    const groups = this.groups(), all = groups.reduce((s, g) => s + g.s, 0) || 1, most = groups.length ? groups[0].s : 1, focus = document.activeElement && document.activeElement.dataset.row;
    const crumb = this.by === "scope" && this.scope ? el("div", { class: "chips" }, el("button", { type: "button", onclick: () => { this.scope = this.scope.includes("/") ? this.scope.replace(/\/[^/]*$/, "") : ""; remember("in", this.scope); this.filterTo(this.scope ? "scope" : null, this.scope); this.breakdown(); } }, "↑ out of " + this.scope)) : null;
    const path = g => this.scope ? this.scope + "/" + g.name : g.name;
    this.parts.breakdown.replaceChildren(el("p", { class: "answer" }, groups.length ? [el("span", { class: "find" }, groups[0].name), ` takes ${percent(groups[0].s / all)} of the time of ${this.by === "scope" && this.scope ? this.scope : "all ops"}, ${seconds(groups[0].s / this.steps)} per step.`] : "No op takes time."),
      el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:12px" }, choice("by", "Group by", BY, this.by, v => { this.by = v; this.scope = ""; remember("by", v === "kind" ? "" : v); remember("in", ""); this.breakdown(); const i = this.parts.breakdown.querySelector(`input[value=${v}]`); if (i) i.focus(); })), crumb,
        el("div", { class: "stack", "aria-hidden": "true" }, groups.filter(g => g.s / all > 0.0005).map(g => el("i", { style: `width:${100 * g.s / all}%;background:${css(this.slotOf(g))}`, title: `${g.name} ${percent(g.s / all)}` }))),
        el("ul", { class: "rows" }, groups.slice(0, 40).map(g => el("li", {}, el("button", { type: "button", "data-row": g.name, "aria-pressed": String(!!this.filterBy && this.filterBy[0] === this.by && this.filterBy[1] === (this.by === "scope" ? path(g) : g.name)), onclick: () => { if (this.by === "scope" && g.name !== "ops of this scope itself") { const p = path(g); this.filterTo("scope", p); if (g.deeper) { this.scope = p; remember("in", p); } } else if (this.by !== "scope") this.filterTo(this.by, g.name); this.breakdown(); } },
          nameOf(g.name + (g.deeper ? " ›" : "")), el("span", { class: "bar" }, el("i", { style: `width:${100 * g.s / most}%;background:${css(this.slotOf(g))}` })), el("span", { class: "num" }, seconds(g.s / this.steps)), el("span", { class: "num mute" }, percent(g.s / all)))))),
        groups.length > 40 ? el("p", { class: "mute", style: "margin:8px 0 0" }, `${count(groups.length - 40)} more take ${percent(groups.slice(40).reduce((s, g) => s + g.s, 0) / all)}.`) : null, this.by === "bound" ? this.boundLegend(groups.map(g => g.name)) : this.legend("class")));
    if (focus) { const again = [...this.parts.breakdown.querySelectorAll("[data-row]")].find(b => b.dataset.row === focus) || this.parts.breakdown.querySelector("[data-row]"); if (again) again.focus(); }
  }
  filterTo(by, value) {
    if (this.filterBy && this.filterBy[0] === by && this.filterBy[1] === value && by !== "scope") by = null;
    this.filterBy = by ? [by, value] : null;
    this.keep = by ? Uint8Array.from(this.runs.time_s, (_, k) => { const x = this.text(this.runs[by], k) || (by === "unit" ? "no unit" : "no scope"); return x === value || (by === "scope" && x.startsWith(value + "/")) ? 1 : 0; }) : null;
    this.table.filter(); this.roofline.dim = this.keep; this.dimTimeline(); this.showChips(); repaint();
  }
  dimTimeline() { const o = this.timeline.o; o.dim = this.keep; o.dimSlot = o.slots.map((_, c) => !this.keep || this.keep.some((x, k) => x && o.colour[k] === c)); }
  showChips() { this.chips.replaceChildren(...(this.filterBy ? [el("button", { type: "button", onclick: () => { this.filterTo(null); this.scope = ""; remember("in", ""); this.breakdown(); } }, `${this.filterBy[0]}: ${this.filterBy[1]} ✕`)] : [])); }
  slots() { return this.colour === "bound" ? k => boundColour(this.text(this.runs.bound, k), this.col.levels) : k => CLASS_COLOURS[this.text(this.runs.class, k)] || "grey"; }
  legend(what) {
    const seen = new Map(); for (let k = 0; k < this.runs.time_s.length; k++) { const n = this.text(this.runs[what], k); if (!seen.has(n)) seen.set(n, what === "bound" ? boundColour(n, this.col.levels) : CLASS_COLOURS[n] || "grey"); }
    return el("ul", { class: "legend" }, [...seen].map(([n, s]) => el("li", {}, el("i", { class: "key", style: "background:" + css(s) }), n)));
  }
  colours(fresh) {
    const slot = this.slots(), r = this.runs, f = this.col.roofline, byRun = new Map(), first = new Map();
    for (let k = 0; k < r.signature.length; k++) if (!first.has(r.signature[k])) first.set(r.signature[k], k);
    const hm = f.memories.length ? f.memories[f.memories.length - 1] : null, hu = Math.max(0, ...f.units.map(u => u.height)); let above = 0;
    const points = f.points.filter(p => first.has(p[0])).map(([sig, flops, bytes, s]) => { const run = first.get(sig), x = flops / bytes, y = flops / s, over = hm && y > hm.height * x * 1.001, roof = hu && y > hu * 1.001;
      if (over) above += s; return { x, y, s, run, name: this.text(r.kind, run), shapes: r.shapes[run], colour: slot(run), above: roof ? "Above the highest roof: an algorithm that needs fewer multiplications than its FLOPs, such as Winograd." : over ? `Above the line of ${hm.name}: intensity counts every operand once, and some were found in a level further in, so that ${hm.name} moved less.` : "" }; });
    const total = points.reduce((s, p) => s + p.s, 0) || 1, v = this.roofline.v;
    this.roofline.dim = this.keep; this.roofline.set({ points, memories: f.memories, units: f.units, total, steps: this.steps }); if (!fresh && v) this.roofline.v = v;
    this.roofAnswer.textContent = points.length ? `The longest point, ${points[0].name}, takes ${percent(points[0].s / total)} of the time of ops with work, at ${si(points[0].y, "FLOP/s")}.` + (above > 0 ? ` Points above the line of ${hm.name}, ${percent(above / total)} of that time, find operands in inner levels.` : "") + (this.roofline.out ? ` ${count(this.roofline.out)} short points lie outside of the axes.` : "") : "No op has both FLOPs and bytes.";
    const rowName = k => { const u = this.text(r.unit, k), c = this.text(r.class, k); return c === "communication" ? "network" : c === "input" ? "host" : u || "no unit"; };
    const rowOf = r.time_s.map((_, k) => rowName(k)), names = [...new Set(rowOf)].sort((a, b) => (a === "host" || a === "network") - (b === "host" || b === "network")), end = this.run.reduce((m, k, i) => Math.max(m, this.start[i] + r.time_s[k]), 0);
    const order = Array.from(this.run.keys()).sort((a, b) => this.start[a] - this.start[b]), o = { start: this.start, time: i => r.time_s[this.run[i]], run: this.run, colour: r.time_s.map((_, k) => SLOTS.indexOf(slot(k))), slots: SLOTS, order, end, row: i => rowOf[this.run[i]], rowNames: names,
      label: i => { const k = this.run[i]; return this.text(r.kind, k) + " " + this.text(r.scope, k); }, words: i => { const k = this.run[i]; return `op ${this.col.first_op + i}: ${this.text(r.kind, k)}\n${this.text(r.scope, k)}\n${seconds(this.start[i])}, ${seconds(r.time_s[k])} long\nbound by ${this.text(r.bound, k)}`; } };
    if (this.col.cores) Object.assign(o, this.tiles());
    if (fresh) { o.flows = this.col.cores ? this.coreFlows() : this.flows(order); this.timeline.set(o); } else { o.flows = this.timeline.flows; const sel = this.timeline.sel; this.timeline.recolour(o); this.timeline.sel = sel; }
    this.dimTimeline();
    if (this.col.cores) this.timeAnswer.textContent = `${count(o.order.length)} tiles of ${count(this.run.length)} ops on ${count(this.col.cores.names.length)} cores in ${seconds(o.end)}; below, what lies in each core's memories, and what the outermost memory moves.`;
    else this.timeAnswer.textContent = `${count(this.run.length)} ops run in ${seconds(end)}` + (this.steps > 1 ? `, ${this.steps} steps` : "") + `; ${names.length} rows of units and the bandwidth of ${this.col.levels.length} levels of memory.`;
    const l = this.legend(this.colour); this.legend1.replaceChildren(...l.cloneNode(true).children); this.legend2.replaceChildren(...l.children); repaint();
  }
  /* Tiles by core in place of ops by unit. */
  tiles() {
    const c = this.col.cores, r = this.runs;
    if (!c.run) { c.run = Int32Array.from(c.op, op => this.run[op - this.col.first_op]); c.start = Float64Array.from(c.start_ps, t => t * 1e-12); c.time = Float64Array.from(c.time_ps, t => t * 1e-12); }
    const name = i => `${this.text(r.kind, c.run[i])} ${this.text(r.scope, c.run[i])}`;
    return { start: c.start, time: i => c.time[i], run: c.run, order: Array.from(c.run.keys()).sort((a, b) => c.start[a] - c.start[b] || a - b), row: i => c.names[c.core[i]], rowNames: c.names,
      end: [...c.memories, c.outermost].reduce((m, f) => Math.max(m, f.at_ps.length ? f.at_ps[f.at_ps.length - 1] * 1e-12 : 0), 0),
      label: name, words: i => `op ${c.op[i]}: ${name(i)}\na tile on ${c.names[c.core[i]]}\n${seconds(c.start[i])}, ${seconds(c.time[i])} long` };
  }
  /* What lies in memories of cores, what the outermost memory moves: amounts from a time on. */
  coreFlows() {
    const c = this.col.cores, flow = (name, note, peak, show, f) => {
      const at = Float64Array.from(f.at_ps, t => t * 1e-12), sum = new Float64Array(at.length); for (let i = 1; i < at.length; i++) sum[i] = sum[i - 1] + f.amount[i - 1] * (at[i] - at[i - 1]);
      const upTo = t => { let a = 0, b = at.length; while (a < b) { const m = (a + b) >> 1; if (at[m] <= t) a = m + 1; else b = m; } return a ? sum[a - 1] + f.amount[a - 1] * (t - at[a - 1]) : 0; };
      return { name, note, peak, show, upTo };
    };
    return [...c.memories.filter(m => m.at_ps.length).map(m => flow(m.core, m.memory, m.capacity_bytes, capacity, m)), flow(c.outermost.memory, null, c.outermost.bandwidth_Bps, x => si(x, "B/s"), c.outermost)];
  }
  flows(order) {
    const r = this.runs;
    return this.col.levels.map((name, k) => {
      const s = Float64Array.from(order, i => this.start[i]), e = Float64Array.from(order, i => this.start[i] + r.time_s[this.run[i]]), sum = new Float64Array(order.length + 1), late = new Float64Array(order.length);
      order.forEach((i, n) => { sum[n + 1] = sum[n] + r.traffic[this.run[i]][k]; late[n] = Math.max(e[n], n ? late[n - 1] : 0); });
      const upTo = t => { let a = 0, b = s.length; while (a < b) { const m = (a + b) >> 1; if (s[m] < t) a = m + 1; else b = m; } if (!a) return 0; let all = sum[a]; for (let n = a - 1, tries = 0; n >= 0 && late[n] > t && tries < 64; n--, tries++) if (e[n] > t) all -= (sum[n + 1] - sum[n]) * (e[n] - t) / (e[n] - s[n]); return all; };
      return { name, upTo, show: x => si(x, "B/s"), peak: this.col.roofline.memories[k] ? this.col.roofline.memories[k].height : 1 };
    });
  }
  remembered() {
    const m = this.doc.memory, into = this.parts.memory;
    if (!m.over_time || !m.over_time.length) return into.replaceChildren(el("p", {}, "Memory over time is not known: the trace does not say which tensors are the same, or is of several ranks."));
    const end = this.run.reduce((x, k, i) => Math.max(x, this.start[i] + this.runs.time_s[k]), 0); let t = 0;
    const points = m.over_time.map(p => { const i = Math.max(0, Math.min(this.start.length - 1, p.seq - this.col.first_op)); t = Math.max(t, this.start[i]); return { ...p, t }; }), classes = Object.keys(MEMORY_COLOURS).filter(c => points.some(p => p[c] > 0));
    classes.sort((a, b) => Math.min(...points.map(p => p[b])) - Math.min(...points.map(p => p[a])));
    this.memory.set({ points, classes, end, capacity: m.capacity_bytes });
    const cures = (m.mitigations || []).filter(c => c.freed_bytes > 0);
    into.replaceChildren(el("p", { class: "answer" }, "The peak is ", el("span", { class: "find" }, capacity(m.peak_bytes)), `, at op ${count(m.peak_seq)}, ${percent(m.peak_bytes / m.capacity_bytes)} of ${capacity(m.capacity_bytes)}.`),
      el("div", { class: "grid wide" }, el("div", { class: "panel" }, this.memory.plot.node, el("ul", { class: "legend" }, classes.map(c => el("li", {}, el("i", { class: "key", style: "background:" + css(MEMORY_COLOURS[c]) }), `${c}, ${capacity(m.by_class[c])} at the peak`)))),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Alive at the peak", style: "max-height:372px" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "l" }, "alive at the peak"), el("th", { scope: "col", class: "l" }, "class"), el("th", { scope: "col" }, "size"))), el("tbody", {}, (m.alive || []).map(a => el("tr", {}, el("td", { class: "l cut", title: a.name }, a.name), el("td", { class: "l" }, a.class), el("td", {}, capacity(a.bytes)))))))),
      cures.length ? el("p", { style: "margin-top:12px" }, "Mitigations: " + cures.map(c => `${c.mitigation} frees ${capacity(c.freed_bytes)}`).join(", ") + ".") : "");
  }
  gains() {
    const g = this.doc.what_if || [], most = Math.max(0.01, ...g.map(x => x.speedup - 1));
    this.parts.whatif.replaceChildren(el("p", { class: "answer" }, g.length ? "Each resource doubled alone (latencies halved); bars start at 1.00x." : "There is no resource to double."), el("div", { class: "panel" }, bars(g.map((x, i) => [upgrade(x), x.speedup - 1, seconds(x.time_s), x.speedup.toFixed(2) + "x", i ? "blue" : "find"]), most, "What-if")));
  }
  energy() {
    const r = this.doc, parts = Object.entries(r.energy_parts_j || {}).filter(([, j]) => j > 0), area = Object.entries(r.area_parts_mm2 || {}).filter(([, a]) => a > 0), price = Object.entries(r.price_parts_usd || {}).filter(([, a]) => a > 0), slots = ["blue", "teal", "navy", "gold", "violet", "grey"];
    const block = (title, all, list, unit) => el("div", { class: "panel" }, el("h3", {}, title), all === null ? el("p", { class: "mute", style: "margin:0" }, "The machine file does not describe it.") : bars(list.map(([n, x], i) => [n, x, unit(x), percent(x / all), slots[i % 6]]), Math.max(...list.map(x => x[1]), 1e-300), title));
    this.parts.energy.replaceChildren(el("p", { class: "answer" }, r.energy_j === null ? "Energy is not described." : `A step takes ${si(r.energy_j, "J")}, a mean power of ${si(r.energy_j / r.time_s, "W")}.`, r.price_usd === null ? " The price is not described." : ` The parts cost ${digits(r.price_usd)} USD.`),
      el("div", { class: "grid two" }, block("Energy per step", r.energy_j, parts, x => si(x, "J")), block("Area", r.area_mm2, area, x => digits(x) + " mm²"), price.length ? block("Price", r.price_usd, price, x => digits(x) + " USD") : null));
  }
  /* slice: of the timeline; default: the op, or its first tile */
  pick(run, i, slice) {
    this.picked = i === undefined ? -1 : i; if (slice === undefined) slice = this.col.cores && i !== undefined ? this.col.cores.op.indexOf(this.col.first_op + i) : this.picked; this.from = document.activeElement;
    const d = derivation(this, run, i); this.detail.replaceChildren(d); this.timeline.sel = slice; this.table.mark(this.picked); repaint();
    d.focus(); d.scrollIntoView({ block: "nearest" });
  }
  unpick(quiet) { this.detail.replaceChildren(); this.picked = -1; this.table.mark(-1); if (!quiet) (this.from && this.from.isConnected ? this.from : this.table.box).focus(); }
}

views.sim = data => new SimPage(Object.assign(data, data.more));
