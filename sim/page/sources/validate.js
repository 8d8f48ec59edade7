/* The page of a validation: predicted against measured times, errors by family and device, the worst rows. */
const FIELDS = ["hardware", "machine", "family", "op", "dtype", "dims", "source"];
const sign = (x, text) => (x > 0 ? "+" : x < 0 ? "−" : "") + text(Math.abs(x));

class ValidatePage {
  constructor(data) {
    const d = this.doc = data.document; this.rows = data.more.rows;
    for (const f of FIELDS) this[f] = this.rows[f];
    this.n = this.rows.measured_s.length; this.error = Float64Array.from(this.rows.predicted_s, (p, i) => p / this.rows.measured_s[i] - 1);
    this.pick = { hardware: state.hardware || "", family: state.family || "" }; this.beside = state.beside === "roofline" ? "roofline" : "prediction"; this.hover = this.chosen = -1;
    this.parts = frame(data, { brand: "Leadline validation", title: data.title, sections: [["summary", "Summary"], ["scatter", "Predicted", "Predicted against measured"], ["errors", "Errors", "Error by family and device"], ["worst", "Rows", "Rows, the worst first"], ...(d.unscored.length ? [["unscored", "Not scored"]] : [])] });
    const o = d.overall;
    this.parts.summary.append(answer(o.points ? ["Predictions of ", `${count(o.points)} measured rows are off by `, find(percent(o.mape)), ` on average (MAPE); half of them by less than ${percent(o.median_ape)}.`] : "No row was scored."),
      facts(fact("MAPE", percent(o.mape), `a plain roofline: ${percent(o.roofline_mape)}`, true), fact("median APE", percent(o.median_ape), `a plain roofline: ${percent(o.roofline_median_ape)}`), fact("within 20 %", percent(o.within_20pct), `a plain roofline: ${percent(o.roofline_within_20pct)}`), fact("bias", sign(o.bias, percent), "mean of (predicted - measured) / measured"),
        fact("launch-bound rows", o.launch_bound && o.launch_bound.points ? percent(o.launch_bound.mape) : "none", o.launch_bound && o.launch_bound.points ? `MAPE of ${count(o.launch_bound.points)} rows whose launch overhead exceeds the roofline` : null), fact("large rows", o.large && o.large.points ? percent(o.large.mape) : "none", o.large && o.large.points ? `MAPE of ${count(o.large.points)} rows` : null)));
    if (d.unscored.length) this.parts.unscored.append(answer(`${count(d.unscored.reduce((s, u) => s + u.points, 0))} rows were not scored.`), plainTable("Reasons", [["because", true], ["rows"]], d.unscored.slice().sort((a, b) => b.points - a.points).map(u => [u.reason, count(u.points)]), 420));
    if (!this.n) return;
    this.build(); this.errors(); this.refresh();
  }
  build() {
    const names = key => [["", "all"], ...[...new Set(this[key])].sort().map(v => [v, v])], choose = (label, key) => selection(label, names(key), this.pick[key], v => { this.pick[key] = v; remember(key, v); this.refresh(); });
    const sizes = new Map(); for (const f of this.family) sizes.set(f, (sizes.get(f) || 0) + 1);
    const order = [...sizes].sort((a, b) => b[1] - a[1]).map(e => e[0]); this.slots = ["blue", "orange", "teal", "violet", "gold", "navy", "rose"];
    this.kindOf = new Map(order.map((f, i) => [f, order.length <= 8 ? Math.min(i, 7) : Math.min(i, 7)])); this.palette = [...this.slots, "grey"]; this.order = order;
    this.raster = new Raster();
    this.plot = new Plot(520, "Predicted against measured times: keys W and S zoom, A and D pan, 0 fits, left and right step through rows, the worst first", (g, w, h) => this.draw(g, w, h), {
      zoom: (f, x, y) => { const b = this.box, v = this.v, p = v[0] + (x - b.l) / (b.r - b.l) * (v[1] - v[0]), q = v[2] + (b.b - y) / (b.b - b.t) * (v[3] - v[2]); this.v = [p + (v[0] - p) / f, p + (v[1] - p) / f, q + (v[2] - q) / f, q + (v[3] - q) / f]; },
      pan: (dx, dy) => { const b = this.box, v = this.v, x = -dx / (b.r - b.l) * (v[1] - v[0]), y = (dy || 0) / (b.b - b.t) * (v[3] - v[2]); this.v = [v[0] + x, v[1] + x, v[2] + y, v[3] + y]; }, fit: () => this.fit(), hover: (x, y) => { const i = this.near(x, y); if (i !== this.hover) { this.hover = i; repaint(this.plot); } return i < 0 ? null : this.words(i); }, leave: () => { this.hover = -1; repaint(this.plot); },
      pick: (x, y) => this.choose(this.near(x, y)), step: d => { const l = this.table.list; if (!l.length) return; const k = l.indexOf(this.chosen); this.choose(l[((k < 0 ? (d > 0 ? -1 : 0) : k) + d + l.length) % l.length]); } });
    this.told = answer(); this.keys = el("ul", { class: "legend" });
    this.parts.scatter.append(this.told, el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:8px" }, choose("Device", "hardware"), choose("Family", "family"), choice("beside", "Show", ["prediction", "roofline"], this.beside, v => { this.beside = v; remember("beside", v === "prediction" ? "" : v); this.refresh(); }), el("button", { type: "button", onclick: () => { this.fit(); repaint(); } }, "Fit")), this.plot.node, this.keys));
    this.table = new DataTable({ by: "ape", label: "Rows, worst first", noun: "rows", searches: "device, op, shape", file: "rows.csv", button: i => "Show row " + count(i + 1), pick: i => { this.choose(i); this.plot.canvas.scrollIntoView({ block: "nearest" }); } });
    this.parts.worst.append(this.table.node);
    const word = (key, name) => ({ key, name: name || key, words: true, value: i => this[key][i] });
    this.table.columns = [{ key: "row", name: "row", value: i => i + 1, text: (i, x) => count(x) }, word("hardware", "device"), word("family"), word("op"), word("dtype"), word("dims", "shape"), { key: "m", name: "measured", csv: "measured_s", value: i => this.rows.measured_s[i], text: (i, x) => seconds(x) }, { key: "p", name: "predicted", csv: "predicted_s", value: i => this.rows.predicted_s[i], text: (i, x) => seconds(x) },
      { key: "ape", name: "error", value: i => Math.abs(this.error[i]), text: i => sign(this.error[i], percent) }, { key: "roof", name: "plain roofline", csv: "roofline_s", value: i => this.rows.roofline_s[i], text: (i, x) => seconds(x) }, word("machine"), word("source")];
  }
  refresh() {
    const p = this.pick, list = []; for (let i = 0; i < this.n; i++) if ((!p.hardware || this.hardware[i] === p.hardware) && (!p.family || this.family[i] === p.family)) list.push(i);
    this.list = list; const shown = new Set(list), what = this.beside === "roofline" ? this.rows.roofline_s : this.rows.predicted_s, errors = list.map(i => Math.abs(what[i] / this.rows.measured_s[i] - 1)), mean = errors.reduce((s, e) => s + e, 0) / (errors.length || 1), near = errors.filter(e => e <= 0.2).length;
    this.points = { u: Float32Array.from(list, i => Math.log10(this.rows.measured_s[i])), v: Float32Array.from(list, i => Math.log10(what[i])), kind: Uint8Array.from(list, i => this.kindOf.get(this.family[i])) };
    this.told.replaceChildren(`${count(list.length)} of ${count(this.n)} rows: `, find(`${percent(mean)} MAPE`), `, ${percent(near / (list.length || 1))} within 20 %`, this.beside === "roofline" ? " by a plain roofline." : ".");
    const present = this.order.filter(f => list.some(i => this.family[i] === f)), few = present.filter(f => this.kindOf.get(f) < 7), many = present.filter(f => this.kindOf.get(f) >= 7);
    this.keys.replaceChildren(...legendOf([...few.map(f => [f, this.palette[this.kindOf.get(f)]]), ...(many.length ? [[many.length === 1 ? many[0] : `${many.length} other families`, "grey"]] : [])]).children, el("li", {}, "between the dashed lines: within 20 %"));
    this.table.set(this.n, this.table.columns, i => shown.has(i), i => FIELDS.map(f => this[f][i]).join(" "));
    this.fit(); repaint();
  }
  fit() {
    let low = Infinity, high = -Infinity; for (const a of [this.points.u, this.points.v]) for (const x of a) if (isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
    if (low > high) { low = -6; high = 0; } low -= 0.15; high += 0.15; this.v = [low, high, low, high];
  }
  get box() { return { l: 70, r: this.plot.width - 12, t: 10, b: this.plot.height - 42 }; }
  X(u) { const b = this.box, v = this.v; return b.l + (u - v[0]) / (v[1] - v[0]) * (b.r - b.l); }
  Y(u) { const b = this.box, v = this.v; return b.b - (u - v[2]) / (v[3] - v[2]) * (b.b - b.t); }
  draw(g, w) {
    if (!this.points) return;
    const b = this.box, v = this.v, lines = (low, high) => { const out = [], steps = high - low > 3 ? [1] : [1, 2, 5]; for (let e = Math.floor(low); e <= high; e++) for (const m of steps) { const u = e + Math.log10(m); if (u >= low && u <= high) out.push([u, si(m * 10 ** e, "s")]); } return out; };
    g.strokeStyle = paint("grid"); g.lineWidth = 1; g.beginPath();
    const xs = lines(v[0], v[1]), ys = lines(v[2], v[3]); for (const [u] of xs) { g.moveTo(this.X(u), b.t); g.lineTo(this.X(u), b.b); } for (const [u] of ys) { g.moveTo(b.l, this.Y(u)); g.lineTo(b.r, this.Y(u)); } g.stroke();
    let last = -Infinity; for (const [u, t] of xs) { const x = this.X(u), tw = g.measureText(t).width; if (x - tw / 2 < last + 8 || x + tw / 2 > b.r + 8) continue; last = x + tw / 2; this.plot.text(t, x, b.b + 12, "mute", "center"); }
    for (const [u, t] of ys) this.plot.text(t, b.l - 6, this.Y(u), "mute", "right");
    g.save(); g.beginPath(); g.rect(b.l, b.t, b.r - b.l, b.b - b.t); g.clip();
    this.raster.draw(g, b, v, this.points, this.palette);
    const line = (off, dashed) => { g.setLineDash(dashed ? [5, 4] : []); g.strokeStyle = paint(dashed ? "mute" : "ink"); g.lineWidth = 1.4; g.beginPath(); g.moveTo(this.X(v[0]), this.Y(v[0] + off)); g.lineTo(this.X(v[1]), this.Y(v[1] + off)); g.stroke(); };
    line(0); line(Math.log10(1.2), true); line(Math.log10(0.8), true); g.setLineDash([]);
    for (const [i, slot, width, r] of [[this.hover, "ink", 2, 6], [this.chosen, "find", 3, 8]]) { const k = i < 0 ? -1 : this.list.indexOf(i); if (k < 0) continue; g.strokeStyle = paint(slot); g.lineWidth = width; g.beginPath(); g.arc(this.X(this.points.u[k]), this.Y(this.points.v[k]), r, 0, 7); g.stroke(); }
    g.restore();
    this.plot.text("measured", b.r, b.b + 31, "ink", "right"); this.plot.text(this.beside === "roofline" ? "plain roofline" : "predicted", b.l + 6, b.t + 8, "ink");
  }
  near(x, y) { const b = this.box; if (x < b.l || x > b.r || y < b.t || y > b.b) return -1; let best = -1, least = 100; for (let k = 0; k < this.list.length; k++) { const dx = this.X(this.points.u[k]) - x; if (dx > 10 || dx < -10) continue; const dy = this.Y(this.points.v[k]) - y, d = dx * dx + dy * dy; if (d < least) { least = d; best = this.list[k]; } } return best; }
  words(i) { return `${this.hardware[i]}, ${this.family[i]}: ${this.op[i]} ${this.dtype[i]}\n${this.dims[i]}\nmeasured ${seconds(this.rows.measured_s[i])}, predicted ${seconds(this.rows.predicted_s[i])} (${sign(this.error[i], percent)})\nplain roofline ${seconds(this.rows.roofline_s[i])}\n${this.source[i]}`; }
  choose(i) { this.chosen = i; this.table.mark(i); repaint(); if (i >= 0) announce(this.words(i)); }
  errors() {
    const cells = this.doc.machines, families = [...new Set(cells.map(c => c.family))].sort(), devices = [...new Set(cells.map(c => c.machine))], of = new Map(cells.map(c => [c.machine + "\n" + c.family, c]));
    const mean = list => { const n = list.reduce((s, c) => s + c.points, 0); return n ? list.reduce((s, c) => s + c.points * c.mape, 0) / n : null; };
    const worst = cells.slice().sort((a, b) => b.mape * b.points - a.mape * a.points)[0], step = x => x === null ? "mute" : "r" + (x < 0.05 ? 0 : x < 0.1 ? 1 : x < 0.15 ? 2 : x < 0.2 ? 3 : x < 0.3 ? 4 : x < 0.5 ? 5 : 6);
    const order = devices.map(m => [m, mean(cells.filter(c => c.machine === m))]).sort((a, b) => b[1] - a[1]);
    this.parts.errors.append(answer("MAPE of each machine and family, the machine with the largest first. ", find(`${worst.family} on ${worst.machine}`), ` contributes most: ${percent(worst.mape)} over ${count(worst.points)} rows.`), el("div", { class: "panel" }, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "MAPE by machine and family", style: "max-height:560px" }, el("table", { class: "heat" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "l" }, "machine"), el("th", { scope: "col" }, "all"), families.map(f => el("th", { scope: "col" }, f)))), el("tbody", {}, order.map(([m, all]) => el("tr", {}, el("th", { scope: "row" }, m), el("td", { class: step(all) }, percent(all)), families.map(f => { const c = of.get(m + "\n" + f); return el("td", { class: c ? step(c.mape) : "mute", title: c ? `${count(c.points)} rows, bias ${sign(c.bias, percent)}, plain roofline ${percent(c.roofline_mape)}` : null }, c ? percent(c.mape) : "none"); }))), el("tr", {}, el("th", { scope: "row" }, "all"), el("td", {}, percent(this.doc.overall.mape)), families.map(f => el("td", {}, percent(mean(cells.filter(c => c.family === f)))))))))));
  }
}
views.validate = data => { new ValidatePage(data); };
