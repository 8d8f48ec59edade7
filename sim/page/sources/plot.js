/* A canvas that is as sharp as the screen, with zoom and pan where its owner gives a view. */
class Plot {
  constructor(height, label, draw, zooms) {
    this.canvas = el("canvas", { tabindex: "0", role: zooms ? "application" : "img", "aria-label": label });
    this.canvas.style.height = height + "px";
    this.node = el("div", { class: "plot" }, this.canvas);
    this.height = height; this.draw = draw; this.g = this.canvas.getContext("2d");
    repaints.add(this);
    new ResizeObserver(() => repaint(this)).observe(this.node);
    if (zooms) this.listen(zooms);
  }
  paint() {
    const w = this.canvas.clientWidth, d = devicePixelRatio || 1;
    if (!w) return;
    if (this.canvas.width !== Math.round(w * d) || this.canvas.height !== Math.round(this.height * d)) {
      this.canvas.width = Math.round(w * d); this.canvas.height = Math.round(this.height * d);
    }
    this.width = w;
    this.g.setTransform(d, 0, 0, d, 0, 0);
    this.g.clearRect(0, 0, w, this.height);
    this.g.font = "12px system-ui, sans-serif"; this.g.textBaseline = "middle";
    this.draw(this.g, w, this.height);
  }
  text(s, x, y, slot, align) {
    const g = this.g;
    g.textAlign = align || "left"; g.lineWidth = 3.5; g.lineJoin = "round"; g.strokeStyle = paint("panel");
    g.strokeText(s, x, y); g.fillStyle = paint(slot || "ink"); g.fillText(s, x, y);
  }
  hint() {
    if (this.hinted) return;
    this.hinted = el("div", { class: "hint" }, "Click the plot, or hold Ctrl, to zoom");
    this.node.append(this.hinted); setTimeout(() => { this.hinted.remove(); this.hinted = null; }, 1500);
  }
  /* z: zoom(factor, x, y), pan(dx, dy), fit(), hover(x, y) returns text, leave(), pick(x, y), step(direction); where
   * brushes() a drag calls brush(from, to, done) in place of pan. */
  listen(z) {
    const c = this.canvas, at = e => { const r = c.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
    let drag = null;
    c.addEventListener("wheel", e => {
      if (!e.ctrlKey && !e.metaKey && document.activeElement !== c) return this.hint();
      e.preventDefault();
      const [x, y] = at(e);
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) z.pan(-(e.deltaX || e.deltaY), 0); else z.zoom(Math.exp(-e.deltaY * 0.002), x, y);
      repaint(this);
    }, { passive: false });
    c.addEventListener("pointerdown", e => { drag = { x: e.clientX, y: e.clientY, moved: false, from: at(e) }; c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointermove", e => {
      const [x, y] = at(e);
      if (drag && (drag.moved || Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 4)) {
        hideTip();
        if (z.brushes && z.brushes()) { drag.moved = true; return z.brush(drag.from, [x, y], false); }
        z.pan(e.clientX - drag.x, e.clientY - drag.y); drag = { x: e.clientX, y: e.clientY, moved: true }; return repaint(this);
      }
      const text = z.hover(x, y);
      c.style.cursor = text ? "pointer" : "default";
      if (text) showTip(text, e.clientX, e.clientY); else hideTip();
    });
    c.addEventListener("pointerup", e => { const d = drag; drag = null; if (d && d.moved && d.from && z.brushes && z.brushes()) return z.brush(d.from, at(e), true); if (d && !d.moved && z.pick) z.pick(...at(e)); });
    c.addEventListener("pointercancel", () => { if (drag && z.brushes && z.brushes()) repaint(this); drag = null; });
    c.addEventListener("pointerleave", () => { hideTip(); if (z.leave) z.leave(); });
    c.addEventListener("keydown", e => {
      const k = e.key.toLowerCase(), mid = this.width / 2;
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (k === "w" || k === "+" || k === "=") z.zoom(1.4, mid, this.height / 2); else if (k === "s" || k === "-") z.zoom(1 / 1.4, mid, this.height / 2);
      else if (k === "a") z.pan(80, 0); else if (k === "d") z.pan(-80, 0); else if (k === "0") z.fit();
      else if (z.step && (k === "arrowright" || k === "arrowleft")) z.step(k === "arrowright" ? 1 : -1);
      else if (z.enter && k === "enter") z.enter(); else return;
      e.preventDefault(); repaint(this);
    });
  }
}

/* Many points as pixels of one picture. u, v: places in units of the axes, view: [left, right, bottom, top] of the box in
 * these, kind: index in palette of slots; hollow(i): drawn with holes. */
class Raster {
  draw(g, b, view, points, palette, hollow) {
    const d = devicePixelRatio || 1, w = Math.max(1, Math.round((b.r - b.l) * d)), h = Math.max(1, Math.round((b.b - b.t) * d)), { u, v, kind } = points, n = u.length, size = Math.max(2, Math.round((n > 30000 ? 2 : 3) * d));
    if (!this.canvas || this.canvas.width !== w || this.canvas.height !== h) { this.canvas = new OffscreenCanvas(w, h); this.pen = this.canvas.getContext("2d"); this.image = this.pen.createImageData(w, h); this.pixels = new Uint32Array(this.image.data.buffer); }
    const px = this.pixels, inks = palette.map(s => { const m = paint(s).match(/[\d.]+/g).map(Number); return (255 << 24 | m[2] << 16 | m[1] << 8 | m[0]) >>> 0; });
    px.fill(0);
    const sx = w / (view[1] - view[0]), sy = h / (view[3] - view[2]), half = size >> 1;
    for (let i = 0; i < n; i++) {
      const x = (u[i] - view[0]) * sx - half | 0, y = (view[3] - v[i]) * sy - half | 0;
      if (!(u[i] >= view[0]) || x < 0 || y < 0 || x + size > w || y + size > h) continue;
      const ink = inks[kind[i]], holes = hollow && hollow(i);
      for (let r = 0, at = y * w + x; r < size; r++, at += w) for (let k = 0; k < size; k++) if (!holes || ((r ^ k) & 1)) px[at + k] = ink;
    }
    this.pen.putImageData(this.image, 0, 0);
    g.imageSmoothingEnabled = false; g.drawImage(this.canvas, b.l, b.t, b.r - b.l, b.b - b.t);
  }
}

/* Roofline on two log axes: m has roofs, points [intensity, rate, seconds, run], all seconds. */
class Roofline {
  constructor(onpick) {
    this.picked = -1;
    this.plot = new Plot(420, "Roofline: keys W and S zoom, A and D pan, 0 fits, left and right step through points by time, Enter opens one",
      (g, w, h) => this.draw(g, w, h), { zoom: (f, x, y) => this.zoom(f, x, y), pan: (dx, dy) => this.pan(dx, dy), fit: () => this.fit(),
        hover: (x, y) => { const p = this.near(x, y); return p && this.words(p); }, pick: (x, y) => { const p = this.near(x, y); if (p) onpick(p.run); },
        step: d => { const v = this.points; if (!v.length) return; this.picked = (this.picked + d + v.length) % v.length; announce(this.words(v[this.picked])); },
        enter: () => { if (this.picked >= 0) onpick(this.points[this.picked].run); } });
  }
  set(model) {
    Object.assign(this, model); this.picked = -1;
    this.fit(); repaint();
  }
  fit() {
    const xs = this.points.map(p => p.x).concat(this.units.flatMap(u => this.memories.slice(-1).map(m => u.height / m.height)));
    const ys = this.points.map(p => p.y).concat(this.units.map(u => u.height));
    if (!xs.length || !ys.length) { this.v = [0, 3, 9, 13]; return; }
    /* points of at most 0.6 % of the time may lie below the lower edges */
    const all = this.points.reduce((s, p) => s + p.s, 0), least = key => {
      let left = 0.006 * all;
      for (const p of [...this.points].sort((a, b) => a[key] - b[key])) if ((left -= p.s) < 0) return p[key];
      return Math.min(...(key === "x" ? xs : ys));
    };
    this.v = [Math.log10(Math.min(least("x"), 1)) - 0.2, Math.log10(Math.max(...xs)) + 0.4, Math.log10(least("y")) - 0.3, Math.log10(Math.max(...ys)) + 0.35];
    this.out = this.points.filter(p => Math.log10(p.x) < this.v[0] || Math.log10(p.y) < this.v[2]).length;
  }
  get box() { return { l: 62, r: this.plot.width - 8, t: 8, b: this.plot.height - 40 }; }
  X(x) { const b = this.box; return b.l + (Math.log10(x) - this.v[0]) / (this.v[1] - this.v[0]) * (b.r - b.l); }
  Y(y) { const b = this.box; return b.b - (Math.log10(y) - this.v[2]) / (this.v[3] - this.v[2]) * (b.b - b.t); }
  zoom(f, x, y) {
    const b = this.box, v = this.v, px = v[0] + (x - b.l) / (b.r - b.l) * (v[1] - v[0]), py = v[2] + (b.b - y) / (b.b - b.t) * (v[3] - v[2]);
    this.v = [px + (v[0] - px) / f, px + (v[1] - px) / f, py + (v[2] - py) / f, py + (v[3] - py) / f];
  }
  pan(dx, dy) {
    const b = this.box, v = this.v, x = -dx / (b.r - b.l) * (v[1] - v[0]), y = dy / (b.b - b.t) * (v[3] - v[2]);
    this.v = [v[0] + x, v[1] + x, v[2] + y, v[3] + y];
  }
  radius(p) { return Math.max(2.5, 26 * Math.sqrt(p.s / this.total)); }
  near(x, y) {
    let best = null, at = 1e9;
    for (const p of this.points) { const d = Math.hypot(this.X(p.x) - x, this.Y(p.y) - y) - this.radius(p); if (d < at && d < 8) { at = d; best = p; } }
    return best;
  }
  words(p) {
    return `${p.name}\n${p.shapes}\n${percent(p.s / this.total)} of the time, ${seconds(p.s / this.steps)} per step\n${digits(p.x)} FLOP/B, ${si(p.y, "FLOP/s")}` +
      (p.above ? "\n" + p.above : "");
  }
  draw(g, w, h) {
    if (!this.points) return;
    const b = this.box;
    g.lineWidth = 1;
    for (let e = Math.ceil(this.v[0]); e <= this.v[1]; e++) {
      const x = this.X(10 ** e); g.strokeStyle = paint("grid"); g.beginPath(); g.moveTo(x, b.t); g.lineTo(x, b.b); g.stroke();
      this.plot.text(e >= 3 ? digits(10 ** e) : String(+(10 ** e).toPrecision(1)), x, b.b + 12, "mute", "center");
    }
    for (let e = Math.ceil(this.v[2]); e <= this.v[3]; e++) {
      const y = this.Y(10 ** e); g.strokeStyle = paint("grid"); g.beginPath(); g.moveTo(b.l, y); g.lineTo(b.r, y); g.stroke();
      this.plot.text(si(10 ** e, "").trim(), b.l - 6, y, "mute", "right");
    }
    this.plot.text("arithmetic intensity, FLOP/B", b.r, b.b + 30, "mute", "right");
    this.plot.text("FLOP/s", b.l - 6, b.t + 4, "mute", "right");
    g.save(); g.beginPath(); g.rect(b.l, b.t, b.r - b.l, b.b - b.t); g.clip();
    const top = Math.max(0, ...this.units.map(u => u.height)), boxes = [];
    const label = (s, spots) => {   /* the first place that is free */
      const tw = g.measureText(s).width;
      for (const [x, y] of spots) {
        const r = [x - tw - 4, y - 9, x + 2, y + 9];
        if (r[0] < b.l || r[2] > b.r + 2 || r[1] < b.t || r[3] > b.b || boxes.some(o => r[0] < o[2] && r[2] > o[0] && r[1] < o[3] && r[3] > o[1])) continue;
        boxes.push(r); this.plot.text(s, x, y, "ink", "right"); return;
      }
    };
    this.memories.forEach((m, i) => {
      const last = i === this.memories.length - 1, knee = top ? Math.min(10 ** this.v[1], top / m.height) : 10 ** this.v[1];
      g.strokeStyle = paint(last ? "ink" : "mute"); g.lineWidth = last ? 1.6 : 1.1; g.setLineDash(last ? [] : [5, 4]);
      g.beginPath(); g.moveTo(this.X(10 ** this.v[0]), this.Y(m.height * 10 ** this.v[0])); g.lineTo(this.X(knee), this.Y(m.height * knee)); g.stroke();
    });
    for (const u of this.units) {
      const m = this.memories.length ? Math.max(...this.memories.map(k => k.height)) : 1, x = Math.max(10 ** this.v[0], u.height / m);
      g.strokeStyle = paint(u.height === top ? "ink" : "mute"); g.lineWidth = u.height === top ? 1.6 : 1.1; g.setLineDash(u.height === top ? [] : [5, 4]);
      g.beginPath(); g.moveTo(this.X(x), this.Y(u.height)); g.lineTo(b.r, this.Y(u.height)); g.stroke();
    }
    g.setLineDash([]);
    for (let i = this.points.length - 1; i >= 0; i--) {
      const p = this.points[i], r = this.radius(p);
      g.globalAlpha = this.dim && !this.dim[p.run] ? 0.12 : 0.85; g.fillStyle = paint(p.colour); g.beginPath(); g.arc(this.X(p.x), this.Y(p.y), r, 0, 7); g.fill();
      g.globalAlpha = 1; g.strokeStyle = paint(i === this.picked ? "find" : "panel"); g.lineWidth = i === this.picked ? 3 : 1; g.stroke();
    }
    for (const u of [...this.units].sort((a, c) => c.height - a.height)) { const y = this.Y(u.height); label(u.name, [[b.r - 6, y - 10], [b.r - 6, y + 11], [b.r - 200, y - 10]]); }
    for (const m of this.memories) label(m.name, [0.5, 0.35, 0.65, 0.25, 0.8].flatMap(f => { const e = this.v[0] + f * (this.v[1] - this.v[0]), x = this.X(10 ** e), y = this.Y(m.height * 10 ** e); return [[x - 6, y - 8], [x + g.measureText(m.name).width + 12, y + 10]]; }));
    g.restore();
  }
}

/* Memory over time or op order: areas by class. m: points [{t, bytes, class...}], classes, end, capacity; words(t): a
 * place of the axis as text (default: seconds). */
class MemoryPlot {
  constructor() {
    this.plot = new Plot(300, "Memory over time by class; the table beside it lists what is alive at the peak", (g, w, h) => this.draw(g, w, h));
    const c = this.plot.canvas;
    c.addEventListener("pointermove", e => {
      const r = c.getBoundingClientRect(), p = this.at(this.T(e.clientX - r.left));
      if (p) showTip(`${this.words(p.t)}: ${capacity(p.bytes)}\n` + this.classes.filter(k => p[k]).map(k => `${k} ${capacity(p[k])}`).join("\n"), e.clientX, e.clientY);
    });
    c.addEventListener("pointerleave", hideTip);
  }
  set(m) { Object.assign(this, { words: seconds }, m); repaint(); }
  T(x) { return (x - 74) / (this.plot.width - 74 - 12) * this.end; }
  at(t) { let best = null; for (const p of this.points || []) { if (p.t > t) break; best = p; } return best || (this.points || [])[0]; }
  draw(g, w, h) {
    if (!this.points || !this.points.length) return;
    const l = 74, r = w - 12, t = 44, b = h - 26, peak = Math.max(...this.points.map(p => p.bytes)), drawn = this.capacity && this.capacity < 1.12 * peak;
    const most = drawn ? Math.max(this.capacity, peak) * 1.04 : peak * 1.06, X = s => l + s / this.end * (r - l), Y = v => b - v / most * (b - t);
    const unit = 1024 ** Math.floor(Math.log(most) / Math.log(1024));
    for (const v of ticks(0, most / unit, 4)) {
      g.strokeStyle = paint("grid"); g.lineWidth = 1; g.beginPath(); g.moveTo(l, Y(v * unit)); g.lineTo(r, Y(v * unit)); g.stroke();
      this.plot.text(v === 0 ? "0" : capacity(v * unit), l - 6, Y(v * unit), "mute", "right");
    }
    for (const s of ticks(0, this.end, w < 600 ? 3 : 8)) this.plot.text(this.words(s), Math.min(X(s), r - 16), b + 14, "mute", "center");
    const base = this.points.map(() => 0);
    for (const k of this.classes) {
      g.fillStyle = paint(MEMORY_COLOURS[k] || "grey"); g.beginPath();
      this.points.forEach((p, i) => { const x = X(p.t), y = Y(base[i] + p[k]); if (i) g.lineTo(x, Y(base[i - 1] + this.points[i - 1][k])); g[i ? "lineTo" : "moveTo"](x, y); });
      const n = this.points.length - 1;
      g.lineTo(X(this.end), Y(base[n] + this.points[n][k])); g.lineTo(X(this.end), Y(base[n]));
      for (let i = n; i >= 0; i--) { g.lineTo(X(i < n ? this.points[i + 1].t : this.end), Y(base[i])); g.lineTo(X(this.points[i].t), Y(base[i])); }
      g.fill();
      this.points.forEach((p, i) => { base[i] += p[k]; });
    }
    const p = this.points.find(q => q.bytes === peak), x = X(p.t);
    g.fillStyle = paint("find"); g.beginPath(); g.moveTo(x, Y(peak)); g.lineTo(x - 5, Y(peak) - 8); g.lineTo(x + 5, Y(peak) - 8); g.fill();
    this.plot.text("peak " + capacity(peak), Math.max(l + 60, Math.min(x, r - 60)), Y(peak) - 16, "find", "center");
    if (drawn) { g.strokeStyle = paint("find"); g.setLineDash([6, 4]); g.beginPath(); g.moveTo(l, Y(this.capacity)); g.lineTo(r, Y(this.capacity)); g.stroke(); g.setLineDash([]); this.plot.text("capacity " + capacity(this.capacity), r - 4, Y(this.capacity) + 10, "find", "right"); }
    else if (this.capacity) this.plot.text(`capacity ${capacity(this.capacity)}, ${digits(this.capacity / peak)}x the peak ↑`, r, 8, "mute", "right");
  }
}
