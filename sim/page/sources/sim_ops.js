/* The table of ops: rows in view only, sorted and filtered; and the derivation of one op's time. */
const ROW_HEIGHT = 31;

class OpTable {
  constructor(view) {
    this.view = view; this.by = state.sort || "time"; this.down = state.dir !== "up"; this.query = state.q || "";
    this.search = el("input", { type: "search", value: this.query,
      oninput: () => { this.query = this.search.value; remember("q", this.query); this.filter(); } });
    this.told = el("span", { class: "mute", role: "status" });
    this.head = el("tr"); this.body = el("tbody");
    this.box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of ops", style: "max-height:480px", onscroll: () => this.rows() },
      this.table = el("table", {}, el("thead", {}, this.head), this.body));
    this.node = el("div", {}, el("div", { class: "controls", style: "margin-bottom:8px" }, el("label", {}, "Search kind, scope, shape", this.search),
      el("button", { type: "button", onclick: () => this.csv() }, "CSV"), this.told), this.box);
  }
  set() {
    const v = this.view, r = v.runs, levels = v.col.levels;
    this.columns = [["op", "op", i => v.col.first_op + i, i => count(v.col.first_op + i)], ["kind", "kind", i => v.text(r.kind, v.run[i])], ["scope", "scope", i => v.text(r.scope, v.run[i])], ["phase", "phase", i => v.text(r.phase, v.run[i])],
      ["time", "time", i => r.time_s[v.run[i]], i => seconds(r.time_s[v.run[i]])], ["share", "% of step", i => r.time_s[v.run[i]], i => percent(r.time_s[v.run[i]] / v.steps / v.doc.time_s)],
      ["bound", "bound by", i => v.text(r.bound, v.run[i])], ["unit", "unit", i => v.text(r.unit, v.run[i]) || "none"],
      ["util", "utilization", i => r.utilization[v.run[i]], i => r.utilization[v.run[i]] ? percent(r.utilization[v.run[i]]) : "none"],
      ["intensity", "FLOP/B", i => r.bytes[v.run[i]] ? r.flops[v.run[i]] / r.bytes[v.run[i]] : 0, (i, x) => digits(x)],
      ["rate", "rate", i => r.time_s[v.run[i]] ? r.flops[v.run[i]] / r.time_s[v.run[i]] : 0, (i, x) => si(x, "FLOP/s")],
      ...levels.map((l, k) => ["level" + k, l + " traffic", i => r.traffic[v.run[i]][k], (i, x) => traffic(x)]),
      ["start", "start", i => v.start[i], (i, x) => seconds(x)]];
    this.head.replaceChildren(...this.columns.map(c => el("th", { scope: "col", class: this.isText(c) ? "l" : null, "aria-sort": c[0] === this.by ? (this.down ? "descending" : "ascending") : null },
      el("button", { type: "button", onclick: () => { this.down = this.by === c[0] ? !this.down : !this.isText(c); this.by = c[0]; remember("sort", this.by); remember("dir", this.down ? "" : "up"); this.set(); } }, c[1] + (c[0] === this.by ? (this.down ? " ▼" : " ▲") : "")))));
    this.filter();
  }
  isText(c) { return ["kind", "scope", "phase", "bound", "unit"].includes(c[0]); }
  filter() {
    const v = this.view, words = this.query.toLowerCase().split(/\s+/).filter(w => w), n = v.runs.time_s.length, ok = new Uint8Array(n);
    for (let k = 0; k < n; k++) {
      const text = words.length ? [v.text(v.runs.kind, k), v.text(v.runs.scope, k), v.text(v.runs.phase, k), v.text(v.runs.bound, k), v.runs.shapes[k]].join(" ").toLowerCase() : "";
      ok[k] = (!v.keep || v.keep[k]) && words.every(w => text.includes(w)) ? 1 : 0;
    }
    const c = this.columns.find(c => c[0] === this.by) || this.columns[4], keys = new Array(v.run.length), list = [];
    for (let i = 0; i < v.run.length; i++) if (ok[v.run[i]]) { list.push(i); keys[i] = c[2](i); }
    const sign = this.down ? -1 : 1;
    list.sort((a, b) => keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b);
    this.list = list;
    this.told.textContent = `${count(list.length)} of ${count(v.run.length)} ops` + (v.steps > 1 ? ` in ${v.steps} steps` : "");
    this.table.setAttribute("aria-rowcount", list.length + 1);
    this.box.scrollTop = 0; this.from = -1; this.rows();
  }
  rows() {
    const from = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - 8), to = Math.min(this.list.length, from + 36);
    if (from === this.from && this.drawn === this.view.picked) return;
    this.from = from; this.drawn = this.view.picked;
    const space = n => n ? [el("tr", { "aria-hidden": "true" }, el("td", { colspan: this.columns.length, style: `height:${n * ROW_HEIGHT}px;padding:0;border:0` }))] : [];
    this.body.replaceChildren(...space(from), ...this.list.slice(from, to).map((i, k) => el("tr", { "aria-rowindex": from + k + 2, "data-pick": true, class: i === this.view.picked ? "sel" : null,
      onclick: () => this.view.pick(this.view.run[i], i) }, this.columns.map(c => { const x = c[2](i), text = c[3] ? c[3](i, x) : x;
        return el("td", { class: this.isText(c) ? "l cut" : null, title: c[0] === "scope" ? x : null }, c[0] === "op" ? el("button", { type: "button", "aria-label": "Derivation of op " + text }, text) : text); }))), ...space(this.list.length - to));
  }
  csv() {
    const quote = x => /[",\n]/.test(x) ? '"' + String(x).replace(/"/g, '""') + '"' : x;
    downloadText("ops.csv", "text/csv", [this.columns.filter(c => c[0] !== "share").map(c => c[1] + ({ time: "_s", start: "_s", rate: "_FLOPps" }[c[0]] || (c[0].startsWith("level") ? "_bytes" : ""))).map(quote).join(",")]
      .concat(this.list.map(i => this.columns.filter(c => c[0] !== "share").map(c => quote(c[2](i))).join(","))).join("\n") + "\n");
  }
}

function derivation(view, run, op) {
  const r = view.runs, d = view.derived.get(run), seq = op === undefined ? r.first[run] : view.col.first_op + op, list = el("dl");
  let group = null;
  (d ? d.lines : []).forEach((line, i) => { const g = d.groups[i]; list.append(el("dt", {}, g !== group ? g : ""), el("dd", {}, line)); group = g; });
  return el("div", { class: "panel derive", role: "region", "aria-label": "Derivation of op " + seq, tabindex: "-1", onkeydown: e => { if (e.key === "Escape") view.unpick(); } },
    el("div", { class: "controls", style: "justify-content:space-between" }, el("h3", {}, `op ${count(seq)}, ${view.text(r.kind, run)}: ${seconds(r.time_s[run])}, bound by ${view.text(r.bound, run)}`),
      el("button", { type: "button", onclick: () => view.unpick() }, "Close")),
    el("p", { class: "mono" }, view.text(r.scope, run)), d ? list : el("p", {}, "The page has derivations of the ops that take the most time. This prints the one of this op: ", el("code", {}, `leadline sim -c ${view.doc.machine} --explain ${seq} ${view.doc.trace}`)),
    d && seq !== r.first[run] ? el("p", { class: "mute", style: "margin:8px 0 0" }, `Derived for op ${count(r.first[run])}, which has the same signature, time and bound.`) : null);
}
