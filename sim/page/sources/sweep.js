/* The page of a sweep. A column is a typed array; a parameter holds indices of its values. `shown` lists the rows that
 * the filters leave; all is drawn anew from that. */
const SWEEP_UNITS = [[/(^|[._])time_s$/, seconds, "time"], [/energy_j$/, x => si(x, "J"), "energy"], [/power_w$/, x => si(x, "W"), "power"], [/area_mm2$/, x => digits(x) + " mm²", "area"], [/price_usd$/, x => digits(x) + " USD", "price"],
  [/_bytes$/, capacity, ""], [/(^share\.|utilization$)/, percent, ""], [/(^|\.)throughput$/, x => si(x, "/s"), ""], [/throughput_per_w$/, x => si(x, "/J"), ""]];
const RAMP = ["ramp0", "ramp1", "ramp2", "ramp3", "ramp4", "ramp5", "ramp6"];
/* Few digits where a value is large or small; used for numbers without a known unit. */
const plainNumber = x => x === null || !isFinite(x) ? "none" : x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e7) ? si(x, "").trim() : Math.abs(x) >= 9999.5 ? digits(x) : String(+x.toPrecision(4));

class SweepPage {
  constructor(data, buffer) {
    const head = this.head = data.more, types = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };
    this.data = data; this.rows = head.rows; this.facts = head.facts;
    this.numbers = new Float64Array(buffer, head.numbers, this.rows); this.valid = new Uint8Array(buffer, head.valid, this.rows);
    this.columns = head.columns.map((c, i) => {
      const unit = c.axis ? null : SWEEP_UNITS.find(u => u[0].test(c.name)), numeric = c.axis && c.numbers.every(n => n !== null);
      return { ...c, i, data: new types[c.type](buffer, c.offset, this.rows), numeric, named: c.axis && !numeric, format: c.axis ? v => c.values[v] : unit ? unit[1] : plainNumber, kept: c.axis ? c.values.map(() => true) : null };
    });
    this.goals = head.objectives.map(o => this.columns.find(c => c.goal && c.name === o.text.replace(/^(min|max)\s+/, ""))).filter(c => c); this.axes = this.columns.filter(c => c.axis && c.values.length > 1);
    this.heavy = head.axes.map(i => this.columns[i]).filter(c => this.axes.includes(c)); this.shares = this.columns.filter(c => c.name.startsWith("share."));
    this.signed = this.goals.map(c => Float64Array.from(c.data, c.goal === "max" ? v => -v : v => v));
    this.ranges = []; this.infeasible = state.inf === "1"; this.hover = -1; this.drags = "selects";
    this.defaults(); this.recall(); this.build(); this.refresh();
  }
  /* values as they are drawn: a parameter's number, or its place among its values */
  at(c, row) { return c.axis ? (c.numeric ? c.numbers[c.data[row]] : c.data[row]) : c.data[row]; }
  wide(c) {
    if (c.named) return false;
    if (c.isWide === undefined) { let low = Infinity, high = 0; for (let r = 0; r < this.rows; r++) { const v = this.at(c, r); if (this.valid[r] !== 1 || !isFinite(v)) continue; if (v < low) low = v; if (v > high) high = v; } c.isWide = low > 0 && high > 20 * low; }
    return c.isWide;
  }
  /* Points that none beats: rows, and arrays of values of which less is better. Equal points stay together. */
  front(rows, values) {
    const k = values.length, fine = rows.filter(r => values.every(v => v[r] === v[r]));
    if (!k || !fine.length) return [];
    const sweep = list => {
      list.sort((a, b) => { for (let o = 0; o < k; o++) if (values[o][a] !== values[o][b]) return values[o][a] - values[o][b]; return a - b; });
      const found = [], recent = [];
      for (const r of list) {
        let beaten = false;
        for (let n = 0; n < recent.length && !beaten; n++) {
          const f = recent[n]; let not = false, less = false;
          for (let o = 0; o < k; o++) { if (values[o][f] > values[o][r]) { not = true; break; } if (values[o][f] < values[o][r]) less = true; }
          if (!not && less) { beaten = true; if (n) { recent.splice(n, 1); recent.unshift(f); } }
        }
        if (!beaten) { found.push(r); recent.push(r); }
      }
      return found;
    };
    let left = fine;
    if (fine.length > 4000) {   /* what a sample already beats need not be sorted */
      const step = Math.floor(fine.length / 1000), few = sweep(fine.filter((_, i) => i % step === 0)).slice(0, 200);
      left = fine.filter(r => { for (const f of few) { let not = false, less = false; for (let o = 0; o < k; o++) { if (values[o][f] > values[o][r]) { not = true; break; } if (values[o][f] < values[o][r]) less = true; } if (!not && less) return false; } return true; });
    }
    return sweep(left);
  }
  /* Two columns that pull apart: of the pairs of objectives the first whose own front is at least half as long as the
   * longest. Where all agree, the first objective beside the result that it has the longest front with. */
  defaults() {
    const step = Math.max(1, Math.floor(this.rows / 3000)), some = []; for (let r = 0; r < this.rows; r += step) if (this.valid[r] === 1) some.push(r);
    const less = c => this.signed[this.goals.indexOf(c)] || c.data;
    const distinct = (a, b) => { const f = this.front(some, [less(a), less(b)]); return new Set(f.map(r => a.data[r])).size; };
    const pairs = this.goals.flatMap((a, i) => this.goals.slice(i + 1).map(b => [a, b, distinct(a, b)])), most = Math.max(1, ...pairs.map(p => p[2]));
    let best = pairs.find(p => p[2] > 1 && p[2] >= 0.5 * most) || [null, null, 1];
    this.agree = this.goals.length > 1 && !best[0];
    if (!best[0] && this.goals.length) for (const b of this.columns.filter(c => !c.axis && !c.goal && /(energy_j|area_mm2|price_usd|power_w|time_s|_bytes)$/.test(c.name))) { const n = distinct(this.goals[0], b); if (n > best[2]) best = [this.goals[0], b, n]; }
    this.x = best[0] || this.goals[0] || this.columns[0]; this.y = best[1] || this.goals[1] || this.heavy[0] || this.columns[0];
    this.colour = this.heavy[0] || this.goals[0] || this.columns[0];
    this.xlog = this.wide(this.x); this.ylog = this.wide(this.y); this.window = null;
    this.of = this.goals[0]; this.across = this.heavy[0]; this.down = this.heavy[1] || this.heavy[0];
  }
  /* The state is behind the # of the address: x, y, colour, logs, window, what is filtered, the design. */
  recall() {
    const named = (key, other) => this.columns.find(c => c.name === state[key]) || other;
    if (state.x) { this.x = named("x", this.x); this.xlog = this.wide(this.x); } if (state.y) { this.y = named("y", this.y); this.ylog = this.wide(this.y); }
    if (state.xlog) this.xlog = state.xlog === "1" && !this.x.named; if (state.ylog) this.ylog = state.ylog === "1" && !this.y.named;
    this.colour = named("colour", this.colour); this.of = named("of", this.of); this.across = named("across", this.across); this.down = named("down", this.down);
    for (const part of (state.drop || "").split(";")) { const [i, list] = part.split(":"), c = this.columns[i]; if (c && c.axis && list) for (const v of list.split(".")) if (+v < c.kept.length) c.kept[+v] = false; }
    for (const part of (state.keep || "").split(";")) { const [i, low, high] = part.split(":"), c = this.columns[i]; if (c && !c.axis && high !== undefined) this.ranges.push({ c, low: +low, high: +high }); }
    const w = (state.window || "").split(",").map(Number); if (w.length === 4 && w.every(isFinite)) this.window = w;
    this.chosen = state.point ? this.numbers.indexOf(+state.point) : -1;
  }
  store() {
    remember("drop", this.columns.filter(c => c.axis && c.kept.includes(false)).map(c => c.i + ":" + c.kept.map((k, v) => k ? "" : v).filter(v => v !== "").join(".")).join(";"));
    remember("keep", this.ranges.map(r => `${r.c.i}:${r.low}:${r.high}`).join(";"));
    remember("inf", this.infeasible ? 1 : ""); remember("window", this.window ? this.window.map(v => +v.toPrecision(6)).join(",") : "");
    remember("point", this.chosen >= 0 ? this.numbers[this.chosen] : "");
  }
  build() {
    const h = this.head, warning = this.facts.warning;
    this.parts = frame(this.data, { brand: "Leadline sweep", title: this.data.title, warnings: warning ? [warning] : [],
      sections: [["designs", "Designs"], ["filter", "Filter"], ["paths", "Parameters", "Parameters and objectives of each design"], ["heat", "Two parameters", "The best by two parameters"], ["sensitivity", "Sensitivity"], ["table", "Table", "The front as a table"]] });
    if (h.left_out) $("foot").append(el("p", {}, `${count(h.left_out)} columns of results are in the database alone, lest the page become too large.`));
    $("foot").append(el("p", {}, "Of a sweep: " + Object.entries(this.facts).map(([k, v]) => `${k} ${v}`).join("; ") + "."));
    const all = this.columns.map(c => [c.i, c.name]), label = (text, key, then) => selection(text, all, this[key].i, v => { this[key] = this.columns[v]; remember(key, this[key].name); then(); });
    const check = (text, get, set) => { const box = el("input", { type: "checkbox", onchange: () => set(box.checked) }); box.checked = get(); box.get = get; return [el("label", {}, box, text), box]; };
    const [xl, xbox] = check("log x", () => this.xlog, v => { this.xlog = v && !this.x.named; xbox.checked = this.xlog; remember("xlog", v ? 1 : 0); this.fit(); }), [yl, ybox] = check("log y", () => this.ylog, v => { this.ylog = v && !this.y.named; ybox.checked = this.ylog; remember("ylog", v ? 1 : 0); this.fit(); });
    const [il] = check("also designs that break constraints", () => this.infeasible, v => { this.infeasible = v; this.refresh(); });
    const axis = (k, box) => () => { this[k + "log"] = this.wide(this[k]); box.checked = this[k + "log"]; remember(k + "log", ""); this.fit(); };
    this.raster = new Raster();
    this.plot = new Plot(480, "Designs as points: keys W and S zoom, A and D pan, 0 fits, left and right step along the front, Enter goes to the design", (g, w, hh) => this.draw(g, w, hh), {
      zoom: (f, x, y) => this.zoom(f, x, y), pan: (dx, dy) => this.pan(dx, dy), fit: () => this.fit(), hover: (x, y) => { const r = this.near(x, y); if (r !== this.hover) { this.hover = r; repaint(this.plot); } return r < 0 ? null : this.words(r); },
      leave: () => { this.hover = -1; repaint(this.plot); },
      pick: (x, y) => this.choose(this.near(x, y)), step: d => { const f = this.onFront; if (!f.length) return; const i = f.indexOf(this.chosen); this.choose(f[((i < 0 ? (d > 0 ? -1 : 0) : i) + d + f.length) % f.length]); announce(this.words(this.chosen)); },
      enter: () => { if (this.chosen >= 0) this.card.focus(); }, brush: (a, b, done) => this.brush(a, b, done), brushes: () => this.drags === "selects" });
    this.told = answer(); this.legend = el("ul", { class: "legend" }); this.card = el("div", { class: "panel design", tabindex: "-1", role: "region", "aria-label": "Design" });
    this.chips = el("div", { class: "chips" });
    this.parts.designs.append(this.told, this.chips, el("div", { class: "grid wide" }, el("div", { class: "panel" },
      el("div", { class: "controls", style: "margin-bottom:8px" }, label("x", "x", axis("x", xbox)), label("y", "y", axis("y", ybox)), label("Colour", "colour", () => this.paintAll()), xl, yl, il),
      this.plot.node, this.legend,
      el("div", { class: "controls", style: "margin-top:12px" }, choice("drag", "A drag over the plot", ["selects", "pans"], this.drags, v => { this.drags = v; }), el("button", { type: "button", onclick: () => { this.fit(); } }, "Fit"), el("button", { type: "button", onclick: () => this.reset() }, "Show all"),
        el("button", { type: "button", onclick: () => this.csv() }, "CSV of what is shown"), el("button", { type: "button", onclick: () => this.png() }, "PNG"))), this.card));
    this.filters(); this.buildPaths(); this.buildHeat(); this.sensitivity();
    this.table = new DataTable({ id: "t", by: this.goals[0] ? "c" + this.goals[0].i : "point", down: false, label: "Designs of the front", noun: "designs of the front", searches: "values", file: "front.csv", button: i => "Design " + count(this.numbers[this.onFront[i]]), pick: i => this.choose(this.onFront[i], true) });
    this.parts.table.append(this.table.node);
    document.addEventListener("keydown", e => { if (e.key === "Escape" && !/^(INPUT|SELECT)$/.test(e.target.tagName)) this.reset(); });
  }
  filters() {
    const into = this.parts.filter, rows = this.axes.map(c => {
      const numbers = c.numeric && c.values.length > 12;
      if (numbers) {
        const pick = (text, start) => { const s = el("select", { onchange: () => keep() }, c.values.map((v, i) => el("option", { value: i, selected: i === start }, v))); return [el("label", {}, text, s), s]; };
        const [from, a] = pick("from", Math.max(0, c.kept.indexOf(true))), [to, b] = pick("to", Math.max(0, c.kept.lastIndexOf(true))), keep = () => { c.kept = c.kept.map((_, i) => i >= +a.value && i <= +b.value); this.refresh(); };
        c.sync = () => { a.value = Math.max(0, c.kept.indexOf(true)); b.value = Math.max(0, c.kept.lastIndexOf(true)); };
        return [c, el("div", { class: "values" }, from, to)];
      }
      const buttons = c.values.map((v, i) => el("button", { type: "button", "aria-pressed": "true", onclick: () => { c.kept[i] = !c.kept[i]; this.refresh(); } }, v));
      c.sync = () => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(c.kept[i])));
      return [c, el("div", { class: "values", role: "group", "aria-label": c.name }, buttons)];
    });
    const results = this.columns.filter(c => !c.axis);
    const which = el("select", {}, results.map(c => el("option", { value: c.i, selected: c === this.goals[0] }, c.name))), low = el("input", { type: "text", inputmode: "decimal", size: 10 }), high = el("input", { type: "text", inputmode: "decimal", size: 10 });
    const limits = results.length ? el("div", { class: "controls", style: "margin-top:16px" }, el("label", {}, "Keep", which), el("label", {}, "from", low), el("label", {}, "to", high), el("button", { type: "button", onclick: () => { this.keepRange(this.columns[which.value], low.value.trim() === "" ? -Infinity : +low.value, high.value.trim() === "" ? Infinity : +high.value); this.refresh(); } }, "Keep")) : null;
    into.append(answer("A value that is switched off takes its designs along; the front is that of what is left."), el("div", { class: "panel" }, rows.length ? el("div", { class: "filters" }, rows.map(([c, node]) => [el("span", { class: "mono" }, c.name), node])) : el("p", {}, "No parameter varies."), limits));
  }
  keepRange(c, low, high) {
    if (low !== low || high !== high) return announce("A limit is a number");
    this.ranges = this.ranges.filter(r => r.c !== c).concat({ c, low, high });
  }
  reset() { this.ranges = []; for (const c of this.columns) if (c.axis) c.kept.fill(true); this.refresh(true); }
  /* Rows that the filters leave, their front, and everything that shows them. */
  refresh(fit) {
    const off = this.columns.filter(c => c.axis && c.kept.includes(false)), out = new Uint32Array(this.rows); let n = 0;
    rows: for (let r = 0; r < this.rows; r++) {
      if (this.valid[r] !== 1 && !(this.infeasible && this.valid[r] === 0)) continue;
      for (const c of off) if (!c.kept[c.data[r]]) continue rows;
      for (const { c, low, high } of this.ranges) { const v = c.data[r]; if (!(v >= low && v <= high)) continue rows; }
      out[n++] = r;
    }
    this.shown = out.slice(0, n);
    this.onFront = this.front(Array.from(this.shown).filter(r => this.valid[r] === 1), this.signed);
    this.front2 = null;
    this.isFront = new Uint8Array(this.rows); for (const r of this.onFront) this.isFront[r] = 1;
    for (const c of this.axes) c.sync();
    this.chips.replaceChildren(...this.ranges.map(r => el("button", { type: "button", onclick: () => { this.ranges = this.ranges.filter(o => o !== r); this.refresh(); } }, `${r.c.name}: ${r.low === -Infinity ? "any" : r.c.format(r.low)} to ${r.high === Infinity ? "any" : r.c.format(r.high)} ✕`)),
      ...off.map(c => el("button", { type: "button", onclick: () => { c.kept.fill(true); this.refresh(); } }, `${c.name}: ${c.kept.filter(k => k).length} of ${c.values.length} values ✕`)));
    const words = [`${count(n)} of ${count(this.rows)} designs are shown; `, find(`${count(this.onFront.length)} ${this.onFront.length === 1 ? "is" : "are"} on the front`), ` of ${this.goals.map(c => (c.goal === "max" ? "max " : "min ") + c.name).join(", ")}.`];
    if (this.agree) words.push(` The objectives agree: one design is the best in all, so ${this.y.name} stands beside ${this.x.name}.`);
    this.told.replaceChildren(...words);
    const columns = [...this.goals, ...this.axes, ...this.columns.filter(c => !c.axis && !c.goal)];
    this.table.set(this.onFront.length, [{ key: "point", name: "point", value: i => this.numbers[this.onFront[i]], text: (i, x) => count(x) }, ...columns.map(c => ({ key: "c" + c.i, name: c.name, words: c.named, csv: c.name,
      value: c.named ? i => c.values[c.data[this.onFront[i]]] : i => this.at(c, this.onFront[i]), text: (i, x) => c.axis ? c.values[c.data[this.onFront[i]]] : c.format(x) }))], null, i => this.axes.map(c => c.values[c.data[this.onFront[i]]]).join(" "));
    if (fit) this.window = null;
    this.store(); this.paintAll();
  }
  paintAll() { this.front2 = null; this.points = null; this.showHeat(); this.showCard(); repaint(); }
  fit() { this.window = null; remember("window", ""); this.front2 = null; this.points = null; repaint(this.plot); }
  extent(c, log) {
    if (c.named) return [-0.5, c.values.length - 0.5];
    let low = Infinity, high = -Infinity;
    for (const r of this.shown) { const v = this.at(c, r); if (!isFinite(v) || (log && v <= 0)) continue; if (v < low) low = v; if (v > high) high = v; }
    if (low > high) return [0, 1];
    if (log) { low = Math.log10(low); high = Math.log10(high); }
    const margin = (high - low || Math.abs(high) || 1) * 0.05;
    return [low - margin, high + margin];
  }
  get box() { return { l: 86, r: this.plot.width - 12, t: 12, b: this.plot.height - 44 }; }
  /* Places of the shown rows in units of the axes, once for each change of axes or filters. */
  place() {
    const n = this.shown.length, of = (c, log) => Float32Array.from(this.shown, r => { const v = this.at(c, r); return c.named ? v + ((Math.imul(r + 1, 2654435761) >>> 8) % 1000 / 1000 - 0.5) * 0.6 : log ? Math.log10(v) : v; });
    if (!this.window) this.window0 = [...this.extent(this.x, this.xlog), ...this.extent(this.y, this.ylog)];
    this.points = { u: of(this.x, this.xlog), v: of(this.y, this.ylog), kind: this.buckets() };
    const less = c => this.signed[this.goals.indexOf(c)] || c.data;
    this.front2 = !this.x.axis && !this.y.axis ? this.front(Array.from(this.shown).filter(r => this.valid[r] === 1), [less(this.x), less(this.y)]) : [];
    this.index = new Map(); this.shown.forEach((r, i) => { if (this.isFront[r] || r === this.chosen) this.index.set(r, i); });
    return n;
  }
  get v() { return this.window || this.window0; }
  X(u) { const b = this.box, v = this.v; return b.l + (u - v[0]) / (v[1] - v[0]) * (b.r - b.l); }
  Y(u) { const b = this.box, v = this.v; return b.b - (u - v[2]) / (v[3] - v[2]) * (b.b - b.t); }
  zoom(f, x, y) { const b = this.box, v = this.v, p = v[0] + (x - b.l) / (b.r - b.l) * (v[1] - v[0]), q = v[2] + (b.b - y) / (b.b - b.t) * (v[3] - v[2]); this.window = [p + (v[0] - p) / f, p + (v[1] - p) / f, q + (v[2] - q) / f, q + (v[3] - q) / f]; this.later(); }
  pan(dx, dy) { const b = this.box, v = this.v, x = -dx / (b.r - b.l) * (v[1] - v[0]), y = (dy || 0) / (b.b - b.t) * (v[3] - v[2]); this.window = [v[0] + x, v[1] + x, v[2] + y, v[3] + y]; this.later(); }
  later() { clearTimeout(this.timer); this.timer = setTimeout(() => this.store(), 300); }
  brush(a, b, done) {
    this.band = done ? null : [a, b]; repaint(this.plot);
    if (!done) return;
    const k = this.box, v = this.v, inv = (p, low, high, from, to, log) => { const u = low + (p - from) / (to - from) * (high - low); return log ? 10 ** u : u; };
    const xs = [a[0], b[0]].map(p => inv(p, v[0], v[1], k.l, k.r, this.xlog)).sort((p, q) => p - q), ys = [a[1], b[1]].map(p => inv(p, v[2], v[3], k.b, k.t, this.ylog)).sort((p, q) => p - q);
    for (const [c, [low, high]] of [[this.x, xs], [this.y, ys]])
      if (c.axis) c.kept = c.kept.map((kept, i) => kept && (c.numeric ? c.numbers[i] >= low && c.numbers[i] <= high : i >= low - 0.3 && i <= high + 0.3)); else this.keepRange(c, low, high);
    this.refresh(true);
  }
  /* Colours: slots for up to eight names, else steps of a scale. */
  buckets() {
    const c = this.colour, kind = new Uint8Array(this.shown.length);
    if (c.named && c.values.length <= SLOTS.length) { this.palette = SLOTS.slice(0, c.values.length); this.shown.forEach((r, i) => { kind[i] = c.data[r]; }); this.keys = c.values.map((v, i) => [v, SLOTS[i]]); }
    else if (c.axis) { const n = c.values.length; this.palette = RAMP; this.shown.forEach((r, i) => { kind[i] = n < 2 ? 0 : Math.round(c.data[r] / (n - 1) * 6); }); this.keys = RAMP.map((s, k) => [[...new Set([...c.values.keys()].filter(i => Math.round(n < 2 ? 0 : i / (n - 1) * 6) === k))], s]).filter(([l]) => l.length).map(([l, s]) => [l.length > 1 ? `${c.values[l[0]]} to ${c.values[l[l.length - 1]]}` : c.values[l[0]], s]); }
    else { const log = this.wide(c), [low, high] = this.extent(c, log), f = v => Math.max(0, Math.min(6, Math.floor(((log ? Math.log10(v) : v) - low) / (high - low) * 7))) || 0, back = p => { const u = low + p * (high - low); return log ? 10 ** u : u; };
      this.palette = RAMP; this.shown.forEach((r, i) => { kind[i] = f(c.data[r]); }); this.keys = RAMP.map((s, k) => [k % 3 ? "" : c.format(back((k + 0.5) / 7)), s]); }
    this.legend.replaceChildren(el("li", {}, c.name + ":"), ...this.keys.map(([name, slot]) => el("li", {}, el("i", { class: "key", style: "background:" + css(slot) }), name)), el("li", {}, "○ on the front"), ...(this.infeasible ? [el("li", {}, "× breaks a constraint")] : []));
    return kind;
  }
  draw(g, w, h) {
    if (!this.points) this.place();
    const b = this.box, v = this.v, p = this.points, n = this.shown.length;
    this.grid(g, b, v);
    g.save(); g.beginPath(); g.rect(b.l, b.t, b.r - b.l, b.b - b.t); g.clip();
    if (n > 3000) this.raster.draw(g, b, v, p, this.palette, this.infeasible ? i => this.valid[this.shown[i]] !== 1 : null); else this.marks(g, p, n);
    g.strokeStyle = paint("ink"); g.lineWidth = 1.4;
    if (this.front2.length > 1) {   /* the front of the two axes as steps */
      const at = this.front2.map(r => [this.value(this.x, this.xlog, r), this.value(this.y, this.ylog, r)]).sort((a, c) => a[0] - c[0]); const more = this.x.goal === "max";
      g.beginPath(); at.forEach(([a, c], i) => { const X = this.X(a), Y = this.Y(c); if (!i) g.moveTo(X, Y); else if (more) { g.lineTo(this.X(at[i - 1][0]), Y); g.lineTo(X, Y); } else { g.lineTo(X, this.Y(at[i - 1][1])); g.lineTo(X, Y); } }); g.stroke();
    }
    const ring = (r, radius, slot, width) => { g.strokeStyle = paint(slot); g.lineWidth = width; g.beginPath(); g.arc(this.X(this.value(this.x, this.xlog, r)), this.Y(this.value(this.y, this.ylog, r)), radius, 0, 7); g.stroke(); };
    if (!this.x.named && !this.y.named) { g.strokeStyle = paint("ink"); g.lineWidth = 1.5; g.beginPath(); for (const r of this.onFront) { const X = this.X(this.value(this.x, this.xlog, r)), Y = this.Y(this.value(this.y, this.ylog, r)); g.moveTo(X + 4.5, Y); g.arc(X, Y, 4.5, 0, 7); } g.stroke(); }
    const base = [this.x, this.y].map(c => c.axis ? null : c.base);
    if (base[0] && base[1]) { const X = this.X(this.xlog ? Math.log10(base[0]) : base[0]), Y = this.Y(this.ylog ? Math.log10(base[1]) : base[1]); g.strokeStyle = paint("mute"); g.lineWidth = 2; g.beginPath(); g.rect(X - 5, Y - 5, 10, 10); g.stroke(); this.plot.text("base machine", X + 9, Y - 9, "mute"); }
    if (this.hover >= 0) ring(this.hover, 7, "ink", 2);
    if (this.chosen >= 0) ring(this.chosen, 8, "find", 3);
    if (this.band) { const [[x0, y0], [x1, y1]] = this.band; g.globalAlpha = 0.15; g.fillStyle = paint("find"); g.fillRect(x0, y0, x1 - x0, y1 - y0); g.globalAlpha = 1; g.strokeStyle = paint("find"); g.lineWidth = 1; g.strokeRect(x0, y0, x1 - x0, y1 - y0); }
    g.restore();
  }
  value(c, log, r) { const v = this.at(c, r); return c.named ? v + ((Math.imul(r + 1, 2654435761) >>> 8) % 1000 / 1000 - 0.5) * 0.6 : log ? Math.log10(v) : v; }
  grid(g, b, v) {
    const ticksOf = (c, log, low, high, most) => c.named ? c.values.map((name, i) => [i, name]).filter(([i]) => i >= low && i <= high) :
      log ? this.logTicks(low, high, most).map(u => [Math.log10(u), c.axis ? this.axisTick(c, u) : c.format(u)]) : ticks(low, high, most).map(u => [u, c.axis ? this.axisTick(c, u) : u === 0 ? "0" : c.format(u)]);
    g.lineWidth = 1; g.strokeStyle = paint("grid");
    const xs = ticksOf(this.x, this.xlog, v[0], v[1], b.r - b.l < 500 ? 4 : 8), ys = ticksOf(this.y, this.ylog, v[2], v[3], 7); let last = -Infinity;
    g.beginPath(); for (const [u] of xs) { g.moveTo(this.X(u), b.t); g.lineTo(this.X(u), b.b); } for (const [u] of ys) { g.moveTo(b.l, this.Y(u)); g.lineTo(b.r, this.Y(u)); } g.stroke();
    for (const [u, t] of xs) { const tw = g.measureText(t).width, X = Math.max(b.l + tw / 2 - 20, Math.min(b.r - tw / 2 + 8, this.X(u))); if (X - tw / 2 < last + 8) continue; last = X + tw / 2; this.plot.text(t, X, b.b + 12, "mute", "center"); }
    for (const [u, t] of ys) this.plot.text(t.length > 11 ? t.slice(0, 10) + "…" : t, b.l - 6, this.Y(u), "mute", "right");
    this.plot.text(this.name(this.x), b.r, b.b + 31, "ink", "right"); this.plot.text(this.name(this.y), b.l + 6, b.t + 8, "ink");
  }
  name(c) { return c.name + (c.goal ? (c.goal === "max" ? ", more is better" : ", less is better") : ""); }
  axisTick(c, u) { const i = c.numbers.findIndex(x => Math.abs(x - u) <= 1e-9 * Math.abs(u)); return i >= 0 ? c.values[i] : plainNumber(u); }
  logTicks(low, high, most) { const out = [], steps = high - low > most ? [1] : high - low > 2 ? [1, 3] : [1, 2, 5]; for (let e = Math.floor(low); e <= high; e++) for (const m of steps) { const u = m * 10 ** e; if (Math.log10(u) >= low && Math.log10(u) <= high) out.push(u); } if (out.length < 2) return ticks(10 ** low, 10 ** high, most); return out; }
  marks(g, p, n) {
    const radius = n > 800 ? 2.5 : 4;
    this.palette.forEach((slot, k) => {
      g.fillStyle = paint(slot); g.strokeStyle = paint(slot); g.lineWidth = 1.4; g.beginPath();
      for (let i = 0; i < n; i++) if (p.kind[i] === k && this.valid[this.shown[i]] === 1) { const x = this.X(p.u[i]), y = this.Y(p.v[i]); g.moveTo(x + radius, y); g.arc(x, y, radius, 0, 7); }
      g.fill(); g.beginPath();
      for (let i = 0; i < n; i++) if (p.kind[i] === k && this.valid[this.shown[i]] !== 1) { const x = this.X(p.u[i]), y = this.Y(p.v[i]); g.moveTo(x - radius, y - radius); g.lineTo(x + radius, y + radius); g.moveTo(x + radius, y - radius); g.lineTo(x - radius, y + radius); }
      g.stroke();
    });
  }
  near(x, y) {
    const p = this.points, b = this.box, v = this.v; if (!p || x < b.l || x > b.r || y < b.t || y > b.b) return -1;
    const sx = (b.r - b.l) / (v[1] - v[0]), sy = (b.b - b.t) / (v[3] - v[2]), px = v[0] + (x - b.l) / sx, py = v[2] + (b.b - y) / sy; let best = -1, least = 144;
    for (let i = 0; i < this.shown.length; i++) { const dx = (p.u[i] - px) * sx, dy = (p.v[i] - py) * sy, d = dx * dx + dy * dy - (this.isFront[this.shown[i]] ? 9 : 0); if (d < least) { least = d; best = this.shown[i]; } }
    return best;
  }
  text(c, r) { return c.axis ? c.values[c.data[r]] : c.format(c.data[r]); }
  words(r) { const list = [...new Set([this.x, this.y, this.colour, ...this.goals, ...this.heavy])].slice(0, 12); return `design ${count(this.numbers[r])}${this.isFront[r] ? ", on the front" : this.valid[r] !== 1 ? ", breaks a constraint" : ""}\n` + list.map(c => `${c.name}: ${this.text(c, r)}`).join("\n"); }
  choose(r, quiet) { this.chosen = r; remember("point", r >= 0 ? this.numbers[r] : ""); this.showCard(); this.table.mark(this.onFront.indexOf(r)); repaint(); if (r >= 0 && !quiet) announce(this.words(r)); }
  showCard() {
    const r = this.chosen;
    if (r < 0) return this.card.replaceChildren(el("h3", {}, "Design"), el("p", { class: "mute", style: "margin:0" }, "A click on a point, or an arrow key over the plot, shows a design here: its values, what bounds it, and the command that evaluates it again."));
    const meter = (title, share) => { const list = this.shares.map((c, i) => [c.name.slice(6), share(c) || 0, SLOTS[i % SLOTS.length]]).filter(s => s[1] > 0.0005).sort((a, b) => b[1] - a[1]); return list.length ? [el("h3", {}, title), stack(list), legendOf(list.map(([n, s, k]) => [`${n} ${percent(s)}`, k]))] : []; };
    const hasBase = this.columns.some(c => !c.axis && c.base !== null && c.base !== undefined), rows = this.columns.filter(c => !this.shares.includes(c) && (!c.axis || c.values.length > 1)).sort((a, b) => !!b.goal - !!a.goal || b.axis - a.axis);
    this.card.replaceChildren(el("h3", {}, `Design ${count(this.numbers[r])}`, el("span", { class: "mute", style: "font-weight:400" }, this.isFront[r] ? ", on the front of what is shown" : ["", "", ", invalid", ", pruned"][this.valid[r]] || (this.valid[r] === 0 ? ", breaks a constraint" : ""))),
      ...meter("Time bound by", c => c.data[r]), ...(hasBase ? meter("The base machine's", c => c.base) : []),
      plainTable("Values of the design", hasBase ? [["value", true], ["this design"], ["base"]] : [["value", true], ["this design"]], rows.map(c => [c.name, this.text(c, r), ...(hasBase ? [c.axis || c.base === null || c.base === undefined ? "" : c.format(c.base)] : [])]), 300),
      ...(this.data.again ? [el("p", { class: "mute", style: "margin:12px 0 4px" }, "This evaluates it again:"), command(`${this.data.again} --point ${this.numbers[r]}`)] : []));
  }
  buildPaths() {
    const list = [...this.goals, ...this.heavy].slice(0, 14);
    this.paths = { all: list, list, plot: new Plot(320, "Parameters and objectives of each design as paths; the filter above keeps values", (g, w, h) => this.drawPaths(g, w, h)) };
    this.parts.paths.append(answer("A path is a design; those of the front are drawn over the others. A drag along an upright axis keeps what passes there."), el("div", { class: "panel" }, this.paths.plot.node));
    const c = this.paths.plot.canvas; let drag = null; c.style.touchAction = "pan-y";
    const at = e => { const b = c.getBoundingClientRect(); return [e.clientX - b.left, e.clientY - b.top]; };
    c.addEventListener("pointerdown", e => { const [x, y] = at(e); drag = { k: Math.max(0, Math.min(this.paths.list.length - 1, Math.floor(x / (this.paths.plot.width / this.paths.list.length)))), y }; c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointermove", e => { if (drag) { this.paths.band = [drag.k, drag.y, at(e)[1]]; repaint(); } });
    c.addEventListener("pointerup", e => { const d = drag; drag = null; this.paths.band = null; if (!d) return; const y = at(e)[1]; if (Math.abs(y - d.y) < 4) return repaint(); const col = this.paths.list[d.k], [low, high] = [d.y, y].map(p => this.paths.inv[d.k](p)).sort((a, b) => a - b);
      if (col.axis) col.kept = col.kept.map((k, i) => k && i >= low && i <= high); else this.keepRange(col, low, high); this.refresh(true); });
    c.addEventListener("pointercancel", () => { drag = null; this.paths.band = null; repaint(); });
  }
  drawPaths(g, w, h) {
    const list = this.paths.list = this.paths.all.slice(0, Math.max(3, Math.floor(w / 84))), step = w / Math.max(1, list.length), top = 34, foot = h - 12;
    const scales = list.map(c => { const log = !c.axis && this.wide(c), [a, b] = c.axis ? [-0.3, c.values.length - 0.7] : this.extent(c, log), up = c.goal === "max" || !c.goal; return { log, a, b, up, f: v => { const u = ((log ? Math.log10(v) : v) - a) / (b - a); return foot - (foot - top) * u; }, inv: y => { const u = a + (foot - y) / (foot - top) * (b - a); return log ? 10 ** u : u; } }; });
    this.paths.inv = scales.map(s => s.inv);
    const trace = r => list.forEach((c, i) => g[i ? "lineTo" : "moveTo"](step * (i + 0.5), scales[i].f(c.data[r])));
    const every = Math.max(1, Math.ceil(this.shown.length / 400));
    g.strokeStyle = paint("mute"); g.globalAlpha = 0.16; g.lineWidth = 1; g.beginPath(); for (let i = 0; i < this.shown.length; i += every) trace(this.shown[i]); g.stroke();
    g.globalAlpha = 0.75; g.strokeStyle = paint("blue"); g.beginPath(); const each = Math.max(1, Math.ceil(this.onFront.length / 300)); this.onFront.forEach((r, i) => { if (i % each === 0) trace(r); }); g.stroke(); g.globalAlpha = 1;
    if (this.chosen >= 0) { g.strokeStyle = paint("find"); g.lineWidth = 2.5; g.beginPath(); trace(this.chosen); g.stroke(); }
    list.forEach((c, i) => {
      const x = step * (i + 0.5), s = scales[i], most = Math.max(3, Math.floor(step / 6.6)), name = c.name.length > most ? "…" + c.name.slice(1 - most) : c.name;
      g.strokeStyle = paint("ink"); g.lineWidth = 1; g.beginPath(); g.moveTo(x, top); g.lineTo(x, foot); g.stroke();
      this.plotText(name, x, 10, c.goal ? "find" : "ink", "center");
      const marks = c.axis ? c.values.map((v, k) => [k, v]) : (s.log ? this.logTicks(s.a, s.b, 5).map(u => [u, c.format(u)]) : ticks(s.a, s.b, 4).map(u => [u, c.format(u)])), gap = Math.max(1, Math.ceil(marks.length * 15 / (foot - top)));
      const room = Math.max(4, Math.floor((step - 12) / 6.4));
      marks.forEach(([v, t], k) => { if (k % gap === 0) this.plotText(String(t).length > room ? String(t).slice(0, room - 1) + "…" : t, x + 5, s.f(v), "mute"); });
    });
    if (this.paths.band) { const [k, a, b] = this.paths.band; g.globalAlpha = 0.25; g.fillStyle = paint("find"); g.fillRect(step * (k + 0.5) - 10, a, 20, b - a); g.globalAlpha = 1; }
  }
  plotText(t, x, y, slot, align) { this.paths.plot.text(t, x, y, slot, align); }
  buildHeat() {
    if (!this.of || !this.across) return this.parts.heat.append(answer("No parameter varies."));
    const one = (text, key, list) => selection(text, list.map(c => [c.i, c.name]), this[key].i, v => { this[key] = this.columns[v]; remember(key, this[key].name); this.showHeat(); });
    this.heat = el("div"); this.heatTold = answer();
    this.parts.heat.append(this.heatTold, el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:12px" }, one("Objective", "of", this.goals), one("across", "across", this.axes), one("down", "down", this.axes)), this.heat));
  }
  showHeat() {
    if (!this.heat) return;
    const a = this.across, d = this.down, o = this.signed[this.goals.indexOf(this.of)], best = new Map(); let top = Infinity;
    for (const r of this.shown) { if (this.valid[r] !== 1) continue; const v = o[r], k = d.data[r] * a.values.length + a.data[r]; if (v < top) top = v; if (!(best.get(k) <= v)) best.set(k, v); }
    const shownA = [...a.values.keys()].filter(i => a.kept[i]), shownD = [...d.values.keys()].filter(i => d.kept[i]), times = v => top < 0 ? top / v : v / top;
    let spread = 1e-9; for (const v of best.values()) spread = Math.max(spread, Math.log(times(v)) || 0);
    this.heatTold.replaceChildren("The best of what is shown is ", find(this.of.format(this.of.goal === "max" ? -top : top)), ". A cell is the best with its two values, whatever the others are, as a multiple of that.");
    if (top === Infinity) return this.heat.replaceChildren(el("p", {}, "No design is shown."));
    this.heat.replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cells of two parameters", style: "max-height:520px" }, el("table", { class: "heat" }, el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "l" }, d.name + " ↓, " + a.name + " →"), shownA.map(i => el("th", { scope: "col" }, a.values[i])))),
      el("tbody", {}, shownD.map(j => el("tr", {}, el("th", { scope: "row" }, d.values[j]), shownA.map(i => { const v = best.get(j * a.values.length + i); if (v === undefined) return el("td", { class: "mute" }, "none");
        const t = times(v); return el("td", { class: "r" + Math.max(0, Math.min(6, Math.floor(Math.log(t) / spread * 6.999))) }, (t < 99.95 ? t.toFixed(t < 1.095 && spread < 0.2 ? 3 : 2) : digits(t)) + "x"); })))))));
  }
  sensitivity() {
    const axes = this.columns.filter(c => c.axis), into = this.parts.sensitivity;
    if (!this.axes.length) return into.append(answer("No parameter varies."));
    into.append(answer("Standardized weights of a linear regression over all designs", this.head.logs ? ", on logarithms" : "", ": by how many standard deviations the objective moves when the parameter moves by one. A bar to the right: more of the parameter, more of the objective."),
      el("div", { class: "grid two" }, this.head.objectives.map(o => { const rows = axes.map((c, i) => [c.name, o.weights[i]]).filter(([, x]) => x !== null && Math.abs(x) >= 0.005).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])), most = Math.max(...rows.map(r => Math.abs(r[1])), 1e-9);
        return el("div", { class: "panel" }, el("h3", {}, `${o.text} `, el("span", { class: "mute", style: "font-weight:400" }, o.r2 === null ? "" : `${percent(o.r2)} of its variance explained`)), diverging(rows.map(([n, x]) => [n, x, x.toFixed(2), ""]), most, "Weights for " + o.text)); })));
  }
  csv() {
    const quote = x => /[",\n\r]/.test(x) ? '"' + String(x).replace(/"/g, '""') + '"' : x, lines = [["point", "front", "valid", ...this.columns.map(c => c.name)].map(quote).join(",")];
    for (const r of this.shown) lines.push([this.numbers[r], this.isFront[r], this.valid[r] === 1 ? 1 : 0, ...this.columns.map(c => c.axis ? quote(c.values[c.data[r]]) : isFinite(c.data[r]) ? c.data[r] : "")].join(","));
    downloadText("designs.csv", "text/csv", lines.join("\n") + "\n");
  }
  png() {
    this.plot.paint();
    const from = this.plot.canvas, to = el("canvas", { width: from.width, height: from.height + 28 * (devicePixelRatio || 1) }), g = to.getContext("2d"), d = devicePixelRatio || 1;
    g.fillStyle = paint("panel"); g.fillRect(0, 0, to.width, to.height); g.drawImage(from, 0, 0); g.scale(d, d); g.font = "12px system-ui, sans-serif"; let x = 12; const y = from.height / d + 12;
    g.textBaseline = "middle"; for (const [name, slot] of [[this.colour.name + ":", null], ...this.keys]) { if (slot) { g.fillStyle = paint(slot); g.fillRect(x, y - 5, 10, 10); x += 14; } g.fillStyle = paint("ink"); g.fillText(name, x, y); x += g.measureText(name).width + 12; }
    to.toBlob(b => download("designs.png", b));
  }
}
views.sweep = async data => { new SweepPage(data, await unpackBytes("columns")); };
