/* The timeline: rows of slices on a canvas. Work is bound by pixels, not by ops: slices that begin within one
 * pixel become one column that shows their mix. Sums for each block of slices make a column cheap. */
const BLOCK = 32, ROW = 24, GAP = 6;   /* a row may be lower: rowHeight, rowGap */

class Row {
  constructor(name, ops, o) {   /* ops sorted by start */
    this.name = name; this.n = ops.length; this.ops = Int32Array.from(ops);
    this.s = Float64Array.from(ops, i => o.start[i]); this.e = Float64Array.from(ops, i => o.start[i] + o.time(i));
    this.colours = o.slots.length;
    this.c = Uint8Array.from(ops, i => o.colour[o.run[i]]);
    this.sums = new Float64Array((Math.floor(this.n / BLOCK) + 2) * this.colours);
    let acc = new Float64Array(this.colours);
    for (let i = 0; i < this.n; i++) {
      if (i % BLOCK === 0) this.sums.set(acc, i / BLOCK * this.colours);
      acc[this.c[i]] += this.e[i] - this.s[i];
    }
    this.sums.set(acc, (Math.floor((this.n - 1) / BLOCK) + 1) * this.colours);
  }
  find(t, from) { let a = from || 0, b = this.n; while (a < b) { const m = (a + b) >> 1; if (this.s[m] < t) a = m + 1; else b = m; } return a; }
  /* busy seconds by colour of slices i to j, in out */
  mix(i, j, out) {
    out.fill(0);
    if (j - i > 2 * BLOCK) {
      const a = Math.ceil(i / BLOCK), b = Math.floor(j / BLOCK);
      for (let k = i; k < a * BLOCK; k++) out[this.c[k]] += this.e[k] - this.s[k];
      for (let k = 0; k < this.colours; k++) out[k] += this.sums[b * this.colours + k] - this.sums[a * this.colours + k];
      for (let k = b * BLOCK; k < j; k++) out[this.c[k]] += this.e[k] - this.s[k];
    } else for (let k = i; k < j; k++) out[this.c[k]] += this.e[k] - this.s[k];
  }
}

class Timeline {
  constructor(onpick) {
    this.onpick = onpick; this.rows = []; this.flows = []; this.v = [0, 1]; this.sel = -1;
    this.plot = new Plot(200, "Timeline: keys W and S zoom, A and D pan, 0 shows all, left and right step through ops by start, Enter opens one",
      (g, w, h) => this.draw(g, w, h), { zoom: (f, x) => this.zoom(f, x), pan: dx => this.pan(dx), fit: () => { this.v = [0, this.end]; },
        hover: (x, y) => { const i = this.at(x, y); return i < 0 ? this.flowAt(x, y) : this.o.words(i); }, pick: (x, y) => { const i = this.at(x, y); if (i >= 0) { this.sel = i; onpick(this.o.run[i], i); repaint(this.plot); } },
        step: d => this.step(d), enter: () => { if (this.sel >= 0) onpick(this.o.run[this.sel], this.sel); } });
  }
  get left() { return this.plot.width < 600 ? 64 : 120; }
  set(o) {
    this.o = o; this.end = o.end || 1; this.v = [0, this.end]; this.sel = -1; this.order = o.order; this.index();
    this.flows = o.flows; this.high = o.rowHeight || ROW; this.pitch = this.high + (o.rowGap === undefined ? GAP : o.rowGap);
    this.plot.height = 30 + this.rows.length * this.pitch + this.flows.length * (34 + GAP) + 8;
    this.plot.canvas.style.height = this.plot.height + "px";
    repaint();
  }
  index() {
    const by = new Map();
    for (const i of this.o.order) { const r = this.o.row(i); if (!by.has(r)) by.set(r, []); by.get(r).push(i); }
    this.rows = this.o.rowNames.filter(r => by.has(r)).map(r => new Row(r, by.get(r), this.o));
  }
  recolour(o) { this.o = o; this.index(); repaint(); }
  T(x) { return this.v[0] + (x - this.left) / (this.plot.width - this.left) * (this.v[1] - this.v[0]); }
  X(t) { return this.left + (t - this.v[0]) / (this.v[1] - this.v[0]) * (this.plot.width - this.left); }
  limit(a, b) {
    const span = Math.min(this.end, Math.max(b - a, this.end * 1e-7));
    a = Math.max(0, Math.min(a, this.end - span)); this.v = [a, a + span];
  }
  zoom(f, x) { const t = this.T(Math.max(this.left, x)); this.limit(t + (this.v[0] - t) / f, t + (this.v[1] - t) / f); }
  pan(dx) { const d = -dx / (this.plot.width - this.left) * (this.v[1] - this.v[0]); this.limit(this.v[0] + d, this.v[0] + d + this.v[1] - this.v[0]); }
  at(x, y) {
    const k = Math.floor((y - 30) / this.pitch), row = this.rows[k];
    if (!row || y < 30 || x < this.left) return -1;
    const w = (this.v[1] - this.v[0]) / (this.plot.width - this.left), a = this.T(x);
    let best = -1, longest = 0;
    for (let i = Math.max(0, row.find(a - w) - 2), n = 0; i < row.n && row.s[i] <= a + w && n < 500; i++, n++)
      if (row.e[i] >= a - w && row.e[i] - row.s[i] > longest) { longest = row.e[i] - row.s[i]; best = row.ops[i]; }
    return best;
  }
  flowAt(x, y) {
    const k = Math.floor((y - 30 - this.rows.length * this.pitch) / (34 + GAP)), f = this.flows[k];
    if (!f || k < 0 || x < this.left) return null;
    const w = (this.v[1] - this.v[0]) / (this.plot.width - this.left), t = this.T(x);
    return `${f.name}${f.note ? " " + f.note : ""}\n${f.show((f.upTo(t + w) - f.upTo(t - w)) / (2 * w))} of ${f.show(f.peak)}`;
  }
  step(d) {
    if (!this.order.length) return;
    this.pos = this.sel < 0 ? (d > 0 ? 0 : this.order.length - 1) : (this.order.indexOf(this.sel) + d + this.order.length) % this.order.length;
    this.sel = this.order[this.pos];
    const a = this.o.start[this.sel], b = a + this.o.time(this.sel);
    if (a < this.v[0] || b > this.v[1]) { const span = this.v[1] - this.v[0]; this.limit((a + b - span) / 2, (a + b + span) / 2); }
    announce(this.o.words(this.sel));
  }
  draw(g, w) {
    if (!this.o) return;
    const l = this.left, per = (this.v[1] - this.v[0]) / (w - l), mix = new Float64Array(this.o.slots.length), byColour = this.o.slots.map(() => []), dim = this.o.slots.map(() => []), texts = [], high = this.high, least = this.o.least || 46;
    if (this.o.hatched) { g.fillStyle = this.hatch(g); for (let k = 0; k < this.rows.length; k++) { const y = 30 + k * this.pitch, right = Math.min(w, this.X(this.end)); g.fillRect(l, y, right - l, high); } }
    for (const t of ticks(this.v[0], this.v[1], w < 600 ? 3 : 9)) {
      const x = this.X(t); g.strokeStyle = paint("grid"); g.lineWidth = 1; g.beginPath(); g.moveTo(x, 22); g.lineTo(x, this.plot.height); g.stroke();
      const s = this.tick(t); if (x + g.measureText(s).width / 2 < w && x > l) this.plot.text(s, x, 11, "mute", "center");
    }
    this.rows.forEach((row, k) => {
      const y = 30 + k * this.pitch;
      let i = Math.max(0, row.find(this.v[0]) - 1);
      while (i < row.n && row.s[i] < this.v[1]) {
        const a = row.s[i], b = row.e[i], x = this.X(a), right = this.X(b);
        if (right - x >= 1.5) {
          if (right > l) { const run = this.o.run[row.ops[i]]; (this.o.dim && !this.o.dim[run] ? dim : byColour)[row.c[i]].push(Math.max(l, x), y, Math.min(right, w) - Math.max(l, x) - 0.5, high);
            if (right - Math.max(l, x) > least) texts.push([Math.max(l, x), y, Math.min(right, w) - Math.max(l, x), row.ops[i], row.c[i]]); }
          i++; continue;
        }
        const px = Math.floor(x), next = this.T(px + 1); let j = Math.max(i + 1, row.find(next, i));
        if (j - 1 > i && (row.e[j - 1] - row.s[j - 1]) / per >= 1.5) j--;
        row.mix(i, j, mix);
        let sum = 0; for (const m of mix) sum += m;
        let top = y + high; const height = high * Math.min(1, sum / per);
        if (px >= l) for (let c = 0; c < mix.length; c++) if (mix[c]) { const hh = height * mix[c] / sum; top -= hh; (this.o.dim && !this.o.dimSlot[c] ? dim : byColour)[c].push(px, top, 1, hh); }
        i = j;
      }
    });
    const fill = (lists, alpha) => lists.forEach((r, c) => { g.fillStyle = paint(this.o.slots[c]); g.globalAlpha = alpha; for (let i = 0; i < r.length; i += 4) g.fillRect(r[i], r[i + 1], r[i + 2], r[i + 3]); });
    fill(dim, 0.18); fill(byColour, 1); g.globalAlpha = 1;
    g.textAlign = "left";
    for (const [x, y, width, op, c] of texts) {
      let s = this.o.label(op); const most = Math.floor((width - 8) / 6.2);
      if (most < Math.min(4, s.length)) continue;
      if (s.length > most) s = s.slice(0, most - 1) + "…";
      g.fillStyle = this.o.dim && !this.o.dim[this.o.run[op]] ? paint("mute") : this.onFill(c); g.fillText(s, x + 4, y + high / 2 + 1);
    }
    this.flows.forEach((f, k) => {
      const y = 30 + this.rows.length * this.pitch + k * (34 + GAP), h = 34;
      g.fillStyle = paint("soft"); g.fillRect(l, y, w - l, h); g.fillStyle = paint("blue");
      let before = f.upTo(this.T(l));
      for (let x = l; x < w; x++) { const now = f.upTo(this.T(x + 1)), hh = Math.min(1, (now - before) / per / f.peak) * h; before = now; if (hh > 0.2) g.fillRect(x, y + h - hh, 1, hh); }
    });
    g.fillStyle = paint("panel"); g.fillRect(0, 22, l, this.plot.height);
    this.rows.forEach((r, k) => this.plot.text(this.cut(r.name, l), 0, 30 + k * this.pitch + high / 2, "ink"));
    this.flows.forEach((f, k) => { const y = 30 + this.rows.length * this.pitch + k * (34 + GAP); this.plot.text(this.cut(f.name, l), 0, y + 10, "ink"); this.plot.text(this.cut(f.note || f.show(f.peak), l), 0, y + 25, "mute"); });
    if (this.sel >= 0) { const k = this.rows.findIndex(r => r.name === this.o.row(this.sel)), x = this.X(this.o.start[this.sel]), r = this.X(this.o.start[this.sel] + this.o.time(this.sel));
      if (k >= 0 && r > l) { g.strokeStyle = paint("find"); g.lineWidth = 2; g.strokeRect(Math.max(l, x) - 1, 29 + k * this.pitch, Math.max(3, Math.min(w, r) - Math.max(l, x) + 1), high + 2); } }
  }
  /* Where nothing runs: strokes in the colour of notes. */
  hatch(g) {
    const tile = new OffscreenCanvas(6, 6), t = tile.getContext("2d");
    t.strokeStyle = paint("mute"); t.globalAlpha = 0.55; t.lineWidth = 1; t.beginPath(); t.moveTo(-1, 7); t.lineTo(7, -1); t.stroke();
    return g.createPattern(tile, "repeat");
  }
  cut(s, l) { const most = Math.floor(l / 7); return s.length > most ? s.slice(0, most - 1) + "…" : s; }
  tick(t) { const span = this.v[1] - this.v[0], p = span < 2e-3 ? [1e6, "µs"] : span < 2 ? [1e3, "ms"] : [1, "s"], d = Math.max(0, Math.ceil(-Math.log10(span * p[0] / 10))); return (t * p[0]).toFixed(Math.min(6, d)).replace(/^(\d+)(\d{3})(?=\.|$)/, "$1,$2") + " " + p[1]; }
  onFill(c) { const m = paint(this.o.slots[c]).match(/[\d.]+/g).map(Number), lin = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * lin(m[0]) + 0.7152 * lin(m[1]) + 0.0722 * lin(m[2]) > 0.179 ? "#000" : "#fff"; }
}
