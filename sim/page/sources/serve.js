/* The page of a serving: latencies, what went on over time, batches, instances, requests. */
const LATENCIES = ["TTFT", "TPOT", "ITL", "end to end", "queued"];
const LATENCY_KEYS = { TTFT: "ttft_s", TPOT: "tpot_s", ITL: "itl_s", "end to end": "e2e_s", queued: "queued_s" };

/* Shares of values that are at most as large: m has curves by name, shares, limits. */
class LatencyPlot {
  constructor() {
    this.plot = new Plot(320, "Share of requests by latency; left and right step through percentiles", (g, w, h) => this.draw(g, w, h), {
      zoom: () => {}, pan: () => {}, fit: () => {}, hover: x => this.words(this.T(x)), step: d => { this.at = Math.max(0, Math.min(this.shares.length - 1, (this.at === undefined ? this.shares.length >> 1 : this.at) + 6 * d)); announce(this.words(this.values[this.at])); } });
  }
  set(values, shares, marks, limit, noun) {   /* marks: [share, latency] */
    Object.assign(this, { values, shares, marks, limit, noun });
    const positive = values.filter(x => x > 0), ends = limit ? [...positive, limit] : positive;
    this.low = ends.length ? Math.log10(Math.min(...ends)) - 0.05 : -6; this.high = ends.length ? Math.log10(Math.max(...ends)) + 0.05 : 0;
    if (this.high - this.low < 0.3) { this.low -= 0.15; this.high += 0.15; }
    repaint(this.plot);
  }
  get box() { return { l: 52, r: this.plot.width - 12, t: 12, b: this.plot.height - 28 }; }
  X(s) { const b = this.box; return b.l + ((s > 0 ? Math.log10(s) : this.low) - this.low) / (this.high - this.low) * (b.r - b.l); }
  T(x) { const b = this.box; return 10 ** (this.low + (Math.max(b.l, Math.min(b.r, x)) - b.l) / (b.r - b.l) * (this.high - this.low)); }
  share(s) { let i = 0; while (i < this.values.length && this.values[i] <= s) i++; return i ? this.shares[i - 1] : 0; }
  words(s) { return `${percent(this.share(s))} of ${this.noun} within ${seconds(s)}`; }
  draw(g) {
    if (!this.values || !this.values.length) return;
    const b = this.box, Y = p => b.b - p * (b.b - b.t);
    g.strokeStyle = paint("grid"); g.lineWidth = 1; g.beginPath();
    for (const p of [0, 0.25, 0.5, 0.75, 1]) { g.moveTo(b.l, Y(p)); g.lineTo(b.r, Y(p)); this.plot.text(`${100 * p}\u00a0%`, b.l - 6, Y(p), "mute", "right"); }
    let last = -Infinity;
    for (let e = Math.floor(this.low); e <= this.high; e++) for (const m of this.high - this.low > 3 ? [1] : [1, 2, 5]) {
      const s = m * 10 ** e, x = this.X(s), t = si(s, "s"), w = g.measureText(t).width;
      if (Math.log10(s) < this.low || x > b.r) continue;
      g.moveTo(x, b.t); g.lineTo(x, b.b); if (x - w / 2 > last + 8 && x + w / 2 <= b.r + 10) { last = x + w / 2; this.plot.text(t, x, b.b + 14, "mute", "center"); }
    }
    g.stroke();
    g.strokeStyle = paint("blue"); g.lineWidth = 2.2; g.beginPath();
    this.values.forEach((s, i) => g[i ? "lineTo" : "moveTo"](this.X(s), Y(this.shares[i]))); g.stroke();
    for (const [p, s] of this.marks) {
      const x = this.X(s), t = `p${100 * p} ${seconds(s)}`, right = x + 12 + g.measureText(t).width > b.r;
      g.fillStyle = paint("blue"); g.beginPath(); g.arc(x, Y(p), 4, 0, 7); g.fill(); this.plot.text(t, right ? x - 9 : x + 9, Y(p) + (p > 0.95 ? -1 : 9), "ink", right ? "right" : "left");
    }
    if (this.limit) { const x = this.X(this.limit); g.strokeStyle = paint("find"); g.setLineDash([6, 4]); g.lineWidth = 1.5; g.beginPath(); g.moveTo(x, b.t); g.lineTo(x, b.b); g.stroke(); g.setLineDash([]); this.plot.text("limit " + seconds(this.limit), x > (b.l + b.r) / 2 ? x - 6 : x + 6, b.b - 12, "find", x > (b.l + b.r) / 2 ? "right" : "left"); }
  }
}

/* Panels over one axis of time. panels: {name, most, text(x), series: [{key, slot, area, name}]}; columns by key. */
const PANEL = 92, PANEL_GAP = 30;
class TimePlot {
  constructor(label) {
    this.v = [0, 1]; this.cross = -1;
    this.plot = new Plot(200, label + ": keys W and S zoom, A and D pan, 0 shows all, left and right step through intervals", (g, w, h) => this.draw(g, w, h), {
      zoom: (f, x) => { const t = this.T(x); this.limit(t + (this.v[0] - t) / f, t + (this.v[1] - t) / f); }, pan: dx => { const d = -dx / (this.plot.width - this.left) * (this.v[1] - this.v[0]); this.limit(this.v[0] + d, this.v[1] + d); }, fit: () => { this.v = [0, this.end]; },
      hover: x => { this.cross = this.at(x); repaint(this.plot); return this.words(this.cross); }, leave: () => { this.cross = -1; repaint(this.plot); },
      step: d => { this.cross = Math.max(0, Math.min(this.n - 1, this.cross + d)); announce(this.words(this.cross)); } });
  }
  get left() { return this.plot.width < 600 ? 58 : 74; }
  set(panels, columns, width, end) {
    Object.assign(this, { panels, columns, every: width, end, v: [0, end], n: columns[panels[0].series[0].key].length });
    this.plot.height = panels.length * (PANEL + PANEL_GAP) + 24; this.plot.canvas.style.height = this.plot.height + "px";
    repaint(this.plot);
  }
  limit(a, b) { const span = Math.min(this.end, Math.max(b - a, 4 * this.every)); a = Math.max(0, Math.min(a, this.end - span)); this.v = [a, a + span]; }
  T(x) { return this.v[0] + (x - this.left) / (this.plot.width - 12 - this.left) * (this.v[1] - this.v[0]); }
  X(t) { return this.left + (t - this.v[0]) / (this.v[1] - this.v[0]) * (this.plot.width - 12 - this.left); }
  at(x) { return Math.max(0, Math.min(this.n - 1, Math.floor(this.T(x) / this.every))); }
  words(i) { return `${seconds(i * this.every)} to ${seconds(Math.min(this.end, (i + 1) * this.every))}\n` + this.panels.flatMap(p => p.series.map(s => `${s.name} ${p.text(this.columns[s.key][i])}`)).join("\n"); }
  draw(g, w) {
    if (!this.panels) return;
    const l = this.left, r = w - 12, first = Math.max(0, Math.floor(this.v[0] / this.every)), end = Math.min(this.n, Math.ceil(this.v[1] / this.every)), bottom = this.panels.length * (PANEL + PANEL_GAP);
    g.strokeStyle = paint("grid"); g.lineWidth = 1; g.beginPath();
    for (const t of ticks(this.v[0], this.v[1], w < 600 ? 3 : 9)) { g.moveTo(this.X(t), PANEL_GAP); g.lineTo(this.X(t), bottom); const s = t ? seconds(t) : "0", half = g.measureText(s).width / 2; this.plot.text(s, Math.min(this.X(t), r + 10 - half), bottom + 12, "mute", "center"); }
    g.stroke();
    this.panels.forEach((p, k) => {
      const top = k * (PANEL + PANEL_GAP) + PANEL_GAP, base = top + PANEL, seen = p.series.flatMap(s => Array.from(this.columns[s.key]).slice(first, end)), most = p.most || Math.max(1e-12, ...seen) * 1.05, Y = v => base - Math.min(1, v / most) * PANEL;
      this.plot.text(p.name, l, top - 11, "ink");
      g.strokeStyle = paint("grid"); g.beginPath(); g.moveTo(l, base); g.lineTo(r, base); g.moveTo(l, top); g.lineTo(r, top); g.stroke();
      this.plot.text(p.text(most), l - 6, top + 2, "mute", "right"); this.plot.text("0", l - 6, base - 4, "mute", "right");
      g.save(); g.beginPath(); g.rect(l, top - 1, r - l, PANEL + 2); g.clip();
      for (const s of p.series) {
        const at = this.columns[s.key], path = () => { for (let i = first; i < end; i++) { const x = this.X(i * this.every), y = Y(at[i]); g[i === first ? "moveTo" : "lineTo"](x, y); g.lineTo(this.X(Math.min(this.end, (i + 1) * this.every)), y); } };
        if (s.area) { g.fillStyle = paint(s.slot); g.globalAlpha = 0.85; g.beginPath(); path(); g.lineTo(this.X(Math.min(this.end, end * this.every)), base); g.lineTo(this.X(first * this.every), base); g.fill(); g.globalAlpha = 1; }
        else { g.strokeStyle = paint(s.slot); g.lineWidth = 1.8; g.beginPath(); path(); g.stroke(); }
      }
      g.restore();
    });
    if (this.cross >= 0) { const x = this.X((this.cross + 0.5) * this.every); g.strokeStyle = paint("find"); g.lineWidth = 1; g.beginPath(); g.moveTo(x, PANEL_GAP); g.lineTo(x, bottom); g.stroke(); }
  }
}

/* Requests as points: arrival against a latency, on a log axis. */
class RequestPlot {
  constructor(pick) {
    this.picked = -1; this.v = [0, 1];
    this.plot = new Plot(340, "Requests by arrival and latency: keys W and S zoom, A and D pan, 0 shows all", (g, w, h) => this.draw(g, w, h), {
      zoom: (f, x) => { const b = this.box, t = this.v[0] + (x - b.l) / (b.r - b.l) * (this.v[1] - this.v[0]); this.v = [t + (this.v[0] - t) / f, t + (this.v[1] - t) / f]; }, pan: dx => { const b = this.box, d = -dx / (b.r - b.l) * (this.v[1] - this.v[0]); this.v = [this.v[0] + d, this.v[1] + d]; }, fit: () => this.fit(),
      hover: (x, y) => { const i = this.near(x, y); return i < 0 ? null : this.words(i); }, pick: (x, y) => pick(this.near(x, y)) });
  }
  set(o) { Object.assign(this, o); this.fit(); repaint(this.plot); }   /* x, y, slot: by request; words(i); end of the serving */
  fit() {
    const xs = this.x, ys = this.y.filter(v => v > 0), most = Math.max(...xs) || this.end;   /* all at the start: the whole time */
    this.v = [-0.01 * most, 1.01 * most]; this.low = ys.length ? Math.log10(Math.min(...ys)) - 0.1 : -6; this.high = ys.length ? Math.log10(Math.max(...ys)) + 0.1 : 0;
  }
  get box() { return { l: 62, r: this.plot.width - 12, t: 10, b: this.plot.height - 40 }; }
  X(t) { const b = this.box; return b.l + (t - this.v[0]) / (this.v[1] - this.v[0]) * (b.r - b.l); }
  Y(s) { const b = this.box; return b.b - (Math.max(this.low, Math.log10(s)) - this.low) / (this.high - this.low) * (b.b - b.t); }
  near(x, y) { let best = -1, least = 100; for (let i = 0; i < this.x.length; i++) { if (!(this.y[i] >= 0)) continue; const d = (this.X(this.x[i]) - x) ** 2 + (this.Y(this.y[i]) - y) ** 2; if (d < least) { least = d; best = i; } } return best; }
  draw(g, w) {
    if (!this.x) return;
    const b = this.box;
    g.strokeStyle = paint("grid"); g.lineWidth = 1; g.beginPath();
    for (let e = Math.floor(this.low), last = Infinity; e <= this.high; e++) for (const m of this.high - this.low > 2.5 ? [1] : [1, 2, 5]) { const s = m * 10 ** e, y = this.Y(s); if (Math.log10(s) < this.low || y < b.t) continue; g.moveTo(b.l, y); g.lineTo(b.r, y); if (y < last - 14) { last = y; this.plot.text(si(s, "s"), b.l - 6, y, "mute", "right"); } }
    for (const t of ticks(Math.max(0, this.v[0]), this.v[1], w < 600 ? 3 : 9)) { const x = this.X(t); g.moveTo(x, b.t); g.lineTo(x, b.b); if (x < b.r - 8) this.plot.text(t ? seconds(t) : "0", x, b.b + 12, "mute", "center"); }
    g.stroke(); this.plot.text("arrival", b.r, b.b + 30, "mute", "right");
    g.save(); g.beginPath(); g.rect(b.l, b.t, b.r - b.l, b.b - b.t); g.clip();
    for (let i = 0; i < this.x.length; i++) { if (!(this.y[i] >= 0)) continue; g.fillStyle = paint(this.slot[i]); g.fillRect(this.X(this.x[i]) - 2, this.Y(this.y[i]) - 2, 4, 4); }
    if (this.picked >= 0 && this.y[this.picked] >= 0) { g.strokeStyle = paint("find"); g.lineWidth = 3; g.beginPath(); g.arc(this.X(this.x[this.picked]), this.Y(this.y[this.picked]), 8, 0, 7); g.stroke(); }
    g.restore();
  }
}

class ServePage {
  constructor(data) {
    const d = this.doc = data.document, m = this.more = data.more;
    this.latency = LATENCIES.includes(state.latency) ? state.latency : "TTFT"; this.pool = Math.max(0, m.pools.findIndex(p => p.name === state.pool));
    this.many = m.pools.reduce((s, p) => s + p.instances.length, 0) > 1;
    this.parts = frame(data, { brand: "Leadline serving", title: data.title, controls: this.pools(), sections: [["summary", "Summary"], ["latency", "Latency"], ["time", "Over time"], ["batches", "Batches"], ...(this.many ? [["instances", "Instances"]] : []), ["requests", "Requests"]] });
    this.summary(); this.latencies(); this.time(); this.batches(); if (this.many) this.instances(); this.requests();
  }
  summary() {
    const d = this.doc, m = this.more, limits = Object.entries(m.limits).filter(e => e[1] !== null), money = (x, n) => x === null ? "not described" : "$" + x.toFixed(n), both = q => q.p50 === null ? "none" : seconds(q.p50), tail = q => q.p50 === null ? null : `p99 ${seconds(q.p99)}, mean ${seconds(q.mean)}`;
    this.parts.summary.append(answer(`${count(d.requests)} request${d.requests === 1 ? "" : "s"} in ${seconds(d.duration_s)}: `, find(`${digits(d.output_tokens_per_s)} output tokens/s`), `, ${digits(d.tokens_per_s_per_device)} a device. Half of the first tokens come within ${both(d.ttft_s)}`, d.tpot_s.p50 === null ? "." : `, and then one every ${both(d.tpot_s)}.`,
      limits.length ? [" ", find(`${percent(d.slo_attainment)} of requests are within the limits`), ` (${limits.map(([n, s]) => `${n} ${seconds(s)}`).join(", ")}).`] : ""),
      facts(fact("output throughput", digits(d.output_tokens_per_s) + " tokens/s", `${digits(d.total_tokens_per_s)} with prompts; ${count(d.devices)} device${d.devices === 1 ? "" : "s"}`, true), fact("TTFT, median", both(d.ttft_s), tail(d.ttft_s)), fact("TPOT, median", both(d.tpot_s), tail(d.tpot_s)), fact("end to end, median", both(d.e2e_s), tail(d.e2e_s)),
        fact("devices busy", percent(d.utilization), `${percent(d.prefill_share)} of it with prompts`), fact("KV cache, peak", percent(d.kv.peak_share), `mean ${percent(m.mean_kv)}; ${count(d.kv.preemptions)} preemption${d.kv.preemptions === 1 ? "" : "s"}; ${percent(d.kv.prefix_hit_share)} of prompts found in it`), fact("price of a million tokens made", money(d.usd_per_m_output_tokens, 3), d.usd_per_hour === null ? null : `${money(d.usd_per_m_input_tokens, 3)} read; ${money(d.usd_per_hour, 2)} an hour`), fact("energy of a token made", si(d.j_per_output_token, "J"), d.gco2_per_output_token === null ? null : `${si(d.gco2_per_output_token, "g")} of CO2e`)),
      this.bounds(), ...m.pools.map((p, i) => el("p", { style: `margin:${i ? 0 : 12}px 0 0;max-width:none` }, p.words + ".")));
  }
  /* What steps are bound by. */
  bounds() {
    const b = this.doc.bottlenecks, rows = ["prefill", "decode"].filter(n => b[n]), names = [...new Set(rows.flatMap(n => Object.keys(b[n])))].filter(n => rows.some(r => b[r][n] > 0.0005)), levels = names.filter(n => !["compute", "network", "host", "overhead", "dependency"].includes(n));
    const parts = n => names.map(k => [k, b[n][k] || 0, boundColour(k, levels)]), most = n => parts(n).reduce((x, y) => y[1] > x[1] ? y : x);
    return rows.length ? el("div", { class: "panel", style: "margin-top:16px" }, el("h3", {}, "What bounds a step"), el("ul", { class: "rows", "aria-label": "What bounds steps" }, rows.map(n => el("li", { class: "row" }, nameOf(n), stack(parts(n), "height:16px;margin:0"), el("span", { class: "num" }, most(n)[0]), el("span", { class: "num mute" }, percent(most(n)[1]))))), legendOf(names.map(n => [n, boundColour(n, levels)]))) : "";
  }
  latencies() {
    const d = this.doc, m = this.more, there = LATENCIES.filter(n => m.curves[n].length), heads = ["mean", "p50", "p90", "p95", "p99"];
    if (!there.includes(this.latency)) this.latency = "TTFT";
    this.curve = new LatencyPlot(); this.told = answer();
    const show = () => { const n = this.latency, q = d[LATENCY_KEYS[n]]; this.told.replaceChildren(`${n === "end to end" ? "End to end" : n === "queued" ? "Time in the queue" : n}: half within `, find(seconds(q.p50)), `, 99 % within ${seconds(q.p99)}.`); this.curve.set(m.curves[n], m.shares, [[0.5, q.p50], [0.9, q.p90], [0.99, q.p99]], m.limits[n], n === "ITL" ? "gaps" : "requests"); };
    this.parts.latency.append(this.told, el("div", { class: "grid two" }, el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:8px" }, choice("latency", "Latency", there, this.latency, v => { this.latency = v; remember("latency", v === "TTFT" ? "" : v); show(); })), this.curve.plot.node), plainTable("Percentiles", [["latency", true], ...heads.map(h => [h])], there.map(n => [n, ...heads.map(h => seconds(d[LATENCY_KEYS[n]][h]))]), 372)));
    show();
  }
  /* Where prefill and decode are apart: which of them is seen over time, and whose batches. */
  pools() { const names = this.more.pools.map(p => p.name); return names.length > 1 ? choice("pool", "Pool", names, names[this.pool], v => { this.pool = names.indexOf(v); remember("pool", this.pool ? v : ""); this.showTime(); this.showBatches(); }) : null; }
  time() {
    const plot = new TimePlot("Throughput, queue, KV cache and use over time"), told = answer(), rate = x => si(x, "").trim(), whole = x => digits(x);
    const show = this.showTime = () => { const p = this.more.pools[this.pool], most = Math.max(...p.waiting), full = Math.max(...p.peak_kv), at = p.waiting.indexOf(most);
      told.replaceChildren(...(most > 0.5 ? ["The queue is longest at ", find(seconds(at * this.more.width_s)), `: ${digits(most)} request${most === 1 ? "" : "s"} wait in the mean of ${seconds(this.more.width_s)}.`] : ["Hardly any request waits."]));
      plot.set([{ name: "output tokens/s", text: rate, series: [{ key: "made", slot: "blue", area: true, name: "output tokens/s" }] }, { name: "prompt tokens/s", text: rate, series: [{ key: "prompt_tokens", slot: "teal", area: true, name: "prompt tokens/s" }] }, { name: "requests", text: whole, series: [{ key: "running", slot: "blue", area: true, name: "running" }, { key: "waiting", slot: "orange", name: "waiting" }] }, { name: "KV cache", most: full > 0.25 ? 1 : null, text: percent, series: [{ key: "peak_kv", slot: "violet", area: true, name: "KV cache, fullest" }, { key: "kv", slot: "ink", name: "KV cache, mean" }] }, { name: "devices busy", most: 1, text: percent, series: [{ key: "busy", slot: "gold", area: true, name: "devices busy" }] }], p, this.more.width_s, this.more.end_s); };
    this.parts.time.append(told, el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:8px" }, el("button", { type: "button", onclick: () => { plot.v = [0, plot.end]; repaint(plot.plot); } }, "Show all"), el("span", { class: "mute" }, "Ctrl and wheel zooms, a drag pans.")), plot.plot.node, legendOf([["running; output", "blue"], ["prompts", "teal"], ["waiting", "orange"], ["fullest KV cache", "violet"], ["mean KV cache", "ink"], ["devices busy", "gold"]])));
    show();
  }
  batches() {
    const told = answer(), list = el("div"), show = this.showBatches = () => { const sizes = this.more.pools[this.pool].sizes, all = sizes.reduce((s, z) => s + z.alone_s + z.mixed_s, 0), steps = sizes.reduce((s, z) => s + z.steps, 0), top = sizes.reduce((a, b) => !a || b.alone_s + b.mixed_s > a.alone_s + a.mixed_s ? b : a, null), name = z => z.least === z.most ? count(z.most) : `${count(z.least)} to ${count(z.most)}`, most = Math.max(1e-12, ...sizes.map(z => z.alone_s + z.mixed_s));
      told.replaceChildren(...(top ? [`Of the time of ${count(steps)} steps `, find(percent((top.alone_s + top.mixed_s) / all)), ` goes to batches of ${name(top)} sequence${top.most === 1 ? "" : "s"}.`] : ["No step was computed."]));
      list.replaceChildren(el("ul", { class: "rows", "aria-label": "Time by sequences of a batch" }, sizes.map(z => el("li", { class: "row" }, nameOf(name(z)), el("span", { class: "bar", style: "height:16px" }, el("span", { class: "stack", style: `height:16px;margin:0;width:${100 * (z.alone_s + z.mixed_s) / most}%` }, [["decode alone", z.alone_s, "blue"], ["with prompts", z.mixed_s, "teal"]].filter(p => p[1] > 0).map(([n, s, slot]) => el("i", { title: `${n} ${seconds(s)}`, style: `width:${100 * s / (z.alone_s + z.mixed_s)}%;background:${css(slot)}` })))), el("span", { class: "num" }, seconds(z.alone_s + z.mixed_s)), el("span", { class: "num mute" }, percent((z.alone_s + z.mixed_s) / all))))), legendOf([["decode alone", "blue"], ["with tokens of prompts", "teal"]])); };
    this.parts.batches.append(told, el("div", { class: "panel" }, el("h3", {}, "Time by sequences of a batch"), list));
    show();
  }
  instances() {
    const rows = this.more.pools.flatMap(p => p.instances.map((x, i) => ({ ...x, pool: p.name, name: `${p.name} ${i}` }))), busiest = rows.reduce((a, b) => b.busy > a.busy ? b : a), idlest = rows.reduce((a, b) => b.busy < a.busy ? b : a), table = new DataTable({ by: "busy", label: "Instances one by one", noun: "instances", searches: "names", file: "instances.csv", height: 360 });
    this.parts.instances.append(answer("Busiest is ", find(busiest.name), `, ${percent(busiest.busy)} of the time; least busy ${idlest.name}, ${percent(idlest.busy)}.`), table.node);
    const number = (key, name, text) => ({ key, name, value: i => rows[i][key], text: (i, x) => text(x) });
    table.set(rows.length, [{ key: "name", name: "instance", words: true, value: i => rows[i].name }, number("busy", "busy", percent), number("steps", "steps", count), number("made", "tokens made", count), number("prompt_tokens", "prompt tokens", count), number("running", "running, mean", digits), number("waiting", "waiting, mean", digits), number("peak_kv", "KV cache, peak", percent)], null, i => rows[i].name);
  }
  requests() {
    const rows = this.more.requests, m = this.more, names = ["number", "arrival", "input", "output", "queued", "TTFT", "TPOT", "end to end", "preemptions", "found", "instance"], at = name => names.indexOf(name), of = { TTFT: 5, TPOT: 6, "end to end": 7, queued: 4 }, kinds = Object.keys(of).filter(k => rows.some(r => r[of[k]] !== null));
    let what = kinds.includes(state.points) ? state.points : "end to end";
    const slot = r => r[at("preemptions")] ? "orange" : "blue", words = i => { const r = rows[i]; return `request ${count(r[0])}, ${count(r[2])} tokens in, ${count(r[3])} out\nqueued ${seconds(r[4])}, TTFT ${seconds(r[5])}` + (r[6] === null ? "" : `, TPOT ${seconds(r[6])}`) + `\nend to end ${seconds(r[7])}` + (r[8] ? `\npreempted ${r[8]} time${r[8] === 1 ? "" : "s"}` : ""); };
    const plot = new RequestPlot(i => choose(i)), table = new DataTable({ by: "e2e", label: "Requests one by one", noun: "requests", file: "requests.csv", button: i => "Show request " + count(rows[i][0]), pick: i => choose(i) });
    const choose = i => { plot.picked = i; table.mark(i); repaint(plot.plot); if (i >= 0) announce(words(i)); };
    const show = () => plot.set({ x: rows.map(r => r[1]), y: rows.map(r => r[of[what]] === null ? NaN : r[of[what]]), slot: rows.map(slot), words, end: m.end_s });
    const slowest = rows.reduce((a, b) => !a || b[7] > a[7] ? b : a, null);
    this.parts.requests.append(answer("The slowest request is ", find(`number ${count(slowest[0])}`), `, with ${seconds(slowest[7])} from arrival to its last token.`, m.stride > 1 ? ` Shown is every ${count(m.stride)}th request.` : ""), el("div", { class: "panel", style: "margin-bottom:16px" }, el("div", { class: "controls", style: "margin-bottom:8px" }, choice("points", "Latency of points", kinds, what, v => { what = v; remember("points", v === "end to end" ? "" : v); show(); })), plot.plot.node, legendOf([["never preempted", "blue"], ["preempted", "orange"]])), table.node);
    const time = (key, name, k, csv) => ({ key, name, csv, value: i => rows[i][k], text: (i, x) => x === null ? "none" : seconds(x) }), number = (key, name, k) => ({ key, name, value: i => rows[i][k], text: (i, x) => count(x) });
    table.set(rows.length, [number("number", "request", 0), time("arrival", "arrival", 1, "arrival_s"), number("input", "tokens in", 2), number("output", "tokens out", 3), time("queued", "queued", 4, "queued_s"), time("ttft", "TTFT", 5, "ttft_s"), time("tpot", "TPOT", 6, "tpot_s"), time("e2e", "end to end", 7, "e2e_s"), number("preemptions", "preemptions", 8), number("found", "tokens found", 9), ...(this.many ? [number("instance", "instance", 10)] : [])], null, () => "");
    show();
  }
}
views.serve = data => { new ServePage(data); };
