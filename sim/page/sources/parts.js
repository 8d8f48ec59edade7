/* What several views are made of: the frame of a page, facts, bars, tables. */

/* Views by name; each source of a view adds its own. */
const views = {};

/* Header, sections, footer. sections: [id, name in the strip, heading (default: name)]. Returns the parts by id. */
function frame(data, { brand, title, sections, controls, warnings }) {
  const parts = {}, heading = el("h1", {}, title), strip = sections.map(([id, name]) =>
    el("a", { href: "#", onclick: e => { e.preventDefault(); $(id).scrollIntoView(); } }, name));
  document.title = title;
  $("top").replaceChildren(el("div", {}, el("div", { class: "brand" }, brand), heading), el("div", { class: "controls" }, controls || [], scheme()));
  $("main").replaceChildren(el("nav", { "aria-label": "Sections" }, strip), ...(warnings || []).map(w => el("p", { class: "warn" }, "Warning: " + w + (/[.!]$/.test(w) ? "" : "."))),
    ...sections.map(([id, name, h2]) => section(id, h2 || name, parts[id] = el("div"))));
  $("foot").replaceChildren(el("p", { style: "max-width:none" }, "Made by ", el("code", {}, data.command), `, leadline ${data.version}.`),
    data.document ? el("button", { type: "button", onclick: () => downloadText("result.json", "application/json", JSON.stringify(data.document, null, 1)) }, "Save the JSON document") : "",
    el("p", { id: "status", class: "visually", role: "status" }));
  /* the mark in view */
  const seen = new IntersectionObserver(entries => { for (const e of entries) if (e.isIntersecting) sections.forEach(([id], i) => { if (id === e.target.id) strip.forEach((a, k) => k === i ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current")); }); }, { rootMargin: "-10% 0px -80% 0px" });
  for (const [id] of sections) seen.observe($(id));
  parts.heading = heading;
  return parts;
}
const fact = (name, value, note, main) => el("div", { class: main ? "main" : null }, el("dt", {}, name), el("dd", {}, value, note ? el("small", {}, note) : null));
const facts = (...list) => el("dl", { class: "facts" }, list);
const answer = (...words) => el("p", { class: "answer" }, words);
const find = text => el("span", { class: "find" }, text);
const legendOf = pairs => el("ul", { class: "legend" }, pairs.map(([name, slot]) => el("li", {}, el("i", { class: "key" + (slot === "hatch" ? " hatch" : ""), style: slot === "hatch" ? null : "background:" + css(slot) }), name)));
/* The name of a row: a long one breaks at underscores and slashes. */
const nameOf = text => el("span", { class: "name" }, typeof text === "string" ? text.split(/(?<=[_/])/).flatMap((part, i) => i ? [el("wbr"), part] : [part]) : text);
/* rows: [name, size, value, note, slot]; sizes are shares of `most`. */
function bars(rows, most, aria) {
  return el("ul", { class: "rows", "aria-label": aria }, rows.map(([n, x, v, s, slot]) => el("li", { class: "row" }, nameOf(n),
    el("span", { class: "bar" }, el("i", { style: `width:${Math.max(0, 100 * x / most)}%;background:${css(slot)}` })), el("span", { class: "num" }, v), el("span", { class: "num mute" }, s))));
}
/* Bars to both sides of a middle: rows of [name, size with sign, value, note]. */
function diverging(rows, most, aria, slots) {
  const [less, more] = slots || ["teal", "blue"];
  return el("ul", { class: "rows", "aria-label": aria }, rows.map(([n, x, v, s]) => el("li", { class: "row" }, nameOf(n),
    el("span", { class: "both" }, el("i", { style: `width:${50 * Math.abs(x) / most}%;${x < 0 ? "right" : "left"}:50%;background:${css(x < 0 ? less : more)}` })), el("span", { class: "num" }, v), el("span", { class: "num mute" }, s))));
}
/* A strip of parts, widths by share: [name, share, slot, words]. */
const stack = (list, style) => el("div", { class: "stack", style, "aria-hidden": "true" }, list.filter(p => p[1] > 0.0005).map(([name, share, slot]) =>
  el("i", { class: slot === "hatch" ? "hatch" : null, style: `width:${100 * share}%;` + (slot === "hatch" ? "" : `background:${css(slot)}`), title: `${name} ${percent(share)}` })));
/* A plain table in a box that scrolls: heads [text, is text], rows of cells (texts or nodes). */
function plainTable(label, heads, rows, height) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label, style: height ? `max-height:${height}px` : null }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map(([h, text]) => el("th", { scope: "col", class: text ? "l" : null }, h)))),
    el("tbody", {}, rows.map(cells => el("tr", {}, cells.map((c, i) => i ? el("td", { class: heads[i][1] ? "l" : null }, c) : el("th", { scope: "row", class: heads[0][1] ? "l" : null }, c)))))));
}
/* A command that one can copy. */
function command(text) {
  const told = el("span", { class: "mute", role: "status" });
  return el("div", { class: "cmd" }, el("code", {}, text), el("button", { type: "button", onclick: () => {
    const done = ok => { told.textContent = ok ? "copied" : "not copied: the browser forbids it"; setTimeout(() => { told.textContent = ""; }, 2000); };
    (navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).then(() => done(true), () => done(false));
  } }, "Copy command"), told);
}
/* A word as a POSIX shell reads it back. */
const shell = word => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + String(word).replace(/'/g, "'\\''") + "'";

/* A table of any number of rows: those in view only, sorted, filtered, searched. columns: {key, name, value(i),
 * text(i, value), words (is text), csv (name in the file; null: not in it)}. */
const ROW_HEIGHT = 31;
class DataTable {
  constructor(o) {   /* id, label, noun, by, height, searches, file, button(i) label, pick(i), suffix() */
    Object.assign(this, { id: "", height: 480, noun: "rows", file: "rows.csv" }, o);
    this.k = name => this.id + name;
    this.by = state[this.k("sort")] || o.by; this.down = state[this.k("dir")] ? state[this.k("dir")] !== "up" : o.down !== false; this.query = state[this.k("q")] || "";
    this.picked = -1; this.count = 0; this.columns = [];
    this.search = el("input", { type: "search", value: this.query, oninput: () => { this.query = this.search.value; remember(this.k("q"), this.query); this.filter(); } });
    this.told = el("span", { class: "mute", role: "status" });
    this.head = el("tr"); this.body = el("tbody");
    this.box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": this.label, style: `max-height:${this.height}px`, onscroll: () => this.rows() },
      this.table = el("table", {}, el("thead", {}, this.head), this.body));
    this.node = el("div", {}, el("div", { class: "controls", style: "margin-bottom:8px" }, this.searches ? el("label", {}, "Search " + this.searches, this.search) : null,
      el("button", { type: "button", onclick: () => this.csv() }, "CSV"), this.told), this.box);
  }
  /* keep(i): whether a filter of the page keeps the row; words(i): what a search reads. */
  set(count, columns, keep, words) {
    Object.assign(this, { count, columns, keep, words });
    if (!columns.some(c => c.key === this.by)) this.by = (columns.find(c => !c.words) || columns[0]).key;
    this.heads(); this.filter();
  }
  heads() {
    this.head.replaceChildren(...this.columns.map(c => el("th", { scope: "col", class: c.words ? "l" : null, "aria-sort": c.key === this.by ? (this.down ? "descending" : "ascending") : null },
      el("button", { type: "button", onclick: () => { this.down = this.by === c.key ? !this.down : !c.words; this.by = c.key; remember(this.k("sort"), this.by); remember(this.k("dir"), this.down ? "down" : "up"); this.heads(); this.filter();
        const i = this.columns.indexOf(c); this.head.children[i].querySelector("button").focus(); } }, c.name + (c.key === this.by ? (this.down ? " ▼" : " ▲") : "")))));
  }
  filter() {
    const words = this.query.toLowerCase().split(/\s+/).filter(w => w), c = this.columns.find(c => c.key === this.by), sign = this.down ? -1 : 1, none = v => v === null || v === undefined || v !== v;
    let list = [];
    for (let i = 0; i < this.count; i++) {
      if (this.keep && !this.keep(i)) continue;
      if (words.length) { const text = this.words(i).toLowerCase(); if (!words.every(w => text.includes(w))) continue; }
      list.push(i);
    }
    if (c.words) { const keys = new Array(this.count); for (const i of list) keys[i] = c.value(i); list.sort((a, b) => none(keys[a]) ? (none(keys[b]) ? a - b : 1) : none(keys[b]) ? -1 : keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b); }
    else {   /* numbers: what has none comes last */
      const keys = new Float64Array(this.count); for (const i of list) { const v = c.value(i); keys[i] = none(v) ? Infinity : sign * v; }
      list = Uint32Array.from(list).sort((a, b) => keys[a] - keys[b] || a - b);
    }
    this.list = list;
    this.told.textContent = `${count(list.length)} of ${count(this.count)} ${this.noun}` + (this.suffix ? this.suffix() : "");
    this.table.setAttribute("aria-rowcount", list.length + 1);
    this.box.scrollTop = 0; this.from = -1; this.rows();
  }
  rows() {
    const from = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - 8), to = Math.min(this.list.length, from + Math.ceil(this.height / ROW_HEIGHT) + 20);
    if (from === this.from && this.drawn === this.picked) return;
    const held = this.box.contains(document.activeElement) && document.activeElement.dataset.row;
    this.from = from; this.drawn = this.picked;
    const space = n => n ? [el("tr", { "aria-hidden": "true" }, el("td", { colspan: this.columns.length, style: `height:${n * ROW_HEIGHT}px;padding:0;border:0` }))] : [];
    this.body.replaceChildren(...space(from), ...Array.from(this.list.slice(from, to), (i, k) => el("tr", { "aria-rowindex": from + k + 2, "data-pick": !!this.pick, class: i === this.picked ? "sel" : null,
      onclick: this.pick ? () => this.pick(i) : null }, this.columns.map((c, n) => { const x = c.value(i), text = c.text ? c.text(i, x) : x === null || x === undefined ? "not known" : String(x);
        return el("td", { class: c.words ? "l cut" : null, title: c.words && text.length > 24 ? text : null }, n === 0 && this.pick ? el("button", { type: "button", "data-row": i, "aria-label": this.button(i) }, text) : c.bar ? c.bar(i, text) : text); }))), ...space(this.list.length - to));
    if (held) { const again = this.body.querySelector(`button[data-row="${held}"]`); if (again) again.focus({ preventScroll: true }); }
  }
  mark(i) { this.picked = i; this.rows(); }
  csv() {
    const quote = x => x === null || x === undefined ? "" : /[",\n\r]/.test(x) ? '"' + String(x).replace(/"/g, '""') + '"' : x, own = this.columns.filter(c => c.csv !== null);
    downloadText(this.file, "text/csv", [own.map(c => quote(c.csv || c.name)).join(",")].concat(Array.from(this.list, i => own.map(c => quote(c.value(i))).join(","))).join("\n") + "\n");
  }
}
