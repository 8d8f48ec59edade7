/* What all pages share: elements, numbers, colours, tooltips, the state in the address. */
const $ = id => document.getElementById(id);
function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {}))
    if (v === null || v === undefined || v === false) continue;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "style") e.style.cssText = v;
    else e.setAttribute(k, v === true ? "" : v);
  e.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined));
  return e;
}
/* Three significant digits; whole numbers get separators. */
function digits(x) {
  const a = Math.abs(x);
  if (a >= 999.5) return Math.round(x).toLocaleString("en-US");
  return a === 0 ? "0" : a >= 99.95 ? x.toFixed(0) : a >= 9.995 ? x.toFixed(1) : a >= 0.9995 ? x.toFixed(2) : String(+x.toPrecision(3));
}
function scaled(x, unit, base, prefixes, low) {
  if (x === null || x === undefined || !isFinite(x)) return "not described";
  if (x === 0) return "0\u00a0" + unit;
  let i = Math.floor(Math.log(Math.abs(x) * (1 + 1e-9)) / Math.log(base));
  i = Math.max(-low, Math.min(prefixes.length - 1 - low, i));
  return digits(x / base ** i) + "\u00a0" + prefixes[i + low] + unit;
}
const si = (x, unit) => scaled(x, unit, 1000, ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"], 4);
const seconds = x => x >= 1000 ? digits(x) + "\u00a0s" : si(x, "s");
const capacity = x => scaled(x, "B", 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"], 0);
const traffic = x => si(x, "B");
const percent = x => x === null || x === undefined ? "not described" : (100 * x).toFixed(x > 0.0995 ? 0 : 1) + "\u00a0%";
const count = x => Math.round(x).toLocaleString("en-US");
const amount = x => Number.isInteger(x) ? count(x) : digits(x);
const baseName = path => String(path).replace(/.*\//, "");

const CLASS_COLOURS = { matrix: "blue", conv: "navy", convolution: "navy", reduction: "teal", elementwise: "gold", "element-wise": "gold",
  random: "gold", optimization: "orange", movement: "violet", communication: "rose", input: "grey" };
const MEMORY_COLOURS = { activation: "blue", weight: "navy", workspace: "teal", gradient: "gold", optimizer: "orange", input: "grey" };
const SLOTS = ["blue", "navy", "teal", "gold", "orange", "violet", "rose", "grey"];
function boundColour(name, levels) {
  const l = levels.indexOf(name);
  if (l >= 0) return l === levels.length - 1 ? "blue" : "teal";
  return { compute: "orange", host: "gold", network: "violet", overhead: "rose" }[name] || "grey";
}
const css = slot => "var(--" + slot + ")";
/* The colour of a slot as the scheme has it, for canvases. */
const probe = el("i", { hidden: true });
let known = {};
function paint(slot) {
  if (known[slot]) return known[slot];
  probe.style.color = css(slot);
  return known[slot] = getComputedStyle(probe).color;
}

const tip = el("div", { class: "tip", hidden: true, role: "presentation" });
function showTip(text, x, y) {
  tip.textContent = text; tip.hidden = false;
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - r.width - 4)) + "px";
  tip.style.top = Math.max(4, y + 18 + r.height > innerHeight ? y - r.height - 10 : y + 18) + "px";
}
const hideTip = () => { tip.hidden = true; };

const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
function remember(key, value) {
  if (value === null || value === undefined || value === "") delete state[key]; else state[key] = String(value);
  history.replaceState(null, "", "#" + new URLSearchParams(state));
}
const repaints = new Set();   /* plots, painted when their data, their size or the scheme change */
let stale = null;             /* plots to be painted in the next frame */
/* Of one plot, or of all. */
function repaint(plot) {
  if (!stale) { stale = new Set(); requestAnimationFrame(() => { const now = stale; stale = null; for (const p of now) p.paint(); }); }
  for (const p of plot ? [plot] : repaints) stale.add(p);
}
function recolour() { known = {}; repaint(); }
function choice(name, legend, values, value, act) {
  return el("fieldset", { class: "seg" }, el("legend", { class: "visually" }, legend), values.map(v =>
    el("label", {}, el("input", { type: "radio", name, value: v, checked: v === value, onchange: () => act(v) }), v)));
}
function selection(label, values, value, act) {
  return el("label", {}, label, el("select", { onchange: e => act(e.target.value) }, values.map(([v, text]) =>
    el("option", { value: v, selected: String(v) === String(value) }, text))));
}
function scheme() {
  const set = v => { if (v === "system") delete document.documentElement.dataset.scheme; else document.documentElement.dataset.scheme = v;
    remember("scheme", v === "system" ? "" : v); recolour(); };
  if (["light", "dark"].includes(state.scheme)) document.documentElement.dataset.scheme = state.scheme;
  return selection("Scheme", [["system", "system"], ["light", "light"], ["dark", "dark"]], state.scheme || "system", set);
}
function announce(text) { $("status").textContent = text; }

async function unpackBytes(id) {
  const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
const unpack = async () => JSON.parse(new TextDecoder().decode(await unpackBytes("data")));
function section(id, title, ...children) {
  return el("section", { id, "aria-labelledby": id + "-h" }, el("h2", { id: id + "-h" }, title), ...children);
}
function ticks(low, high, most) {
  const span = high - low, raw = span / Math.max(1, most), p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(f => f * p >= raw) * p, out = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) out.push(Math.abs(t) < step * 1e-6 ? 0 : t);
  return out;
}
const downloadText = (name, type, text) => download(name, new Blob([text], { type }));
function download(name, blob) {
  const a = el("a", { href: URL.createObjectURL(blob), download: name });
  a.click(); setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
