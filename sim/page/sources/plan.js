/* The page of a plan search: the ranking, and for a chosen plan its schedule and its stages. The first four
   parts are the kinds of passes as cmd_plan.c numbers them. */
const PART_SLOTS = [["forward", "blue"], ["backward", "teal"], ["backward, for inputs", "teal"], ["backward, for weights", "orange"], ["exposed communication", "violet"], ["gradient exchange", "rose"], ["weight update", "gold"]];
const OF_WEIGHTS = 3, EXPOSED = 4, EXCHANGE = 5, UPDATE = 6;

const DEGREES = ["dp", "tp", "cp", "pp", "ep"];

class PlanPage {
  constructor(data, buffer) {
    this.data = data; this.doc = data.document; this.more = data.more; this.buffer = buffer; this.plans = this.doc.plans;
    this.at = Math.min(this.more.plans.length - 1, Math.max(0, +state.plan || 0));
    const d = this.doc;
    this.parts = frame(data, { brand: "Leadline plan", title: `${data.title} on ${count(d.devices)} device${d.devices === 1 ? "" : "s"} of ${this.more.machine}`, warnings: d.warnings,
      sections: this.plans.length ? [["ranking", "Ranking"], ["plan", "Plan", "The chosen plan"], ["schedule", "Schedule"], ["stages", "Stages"]] : [["ranking", "Ranking"]] });
    this.ranking();
    if (!this.more.plans.length) return;
    this.timeline = new Timeline(() => {});
    this.timeline.plot.canvas.setAttribute("aria-label", "Schedule, stages by time: keys W and S zoom, A and D pan, 0 shows all, left and right step through passes by start");
    this.told = answer(); this.legend = legendOf([...PART_SLOTS, ["bubble", "hatch"]]);
    this.parts.schedule.append(this.told, el("div", { class: "panel" }, el("div", { class: "controls", style: "margin-bottom:8px" }, el("button", { type: "button", onclick: () => { this.timeline.v = [0, this.timeline.end]; repaint(); } }, "Show all"), el("span", { class: "mute" }, "Ctrl and wheel zooms, a drag pans. Numbers are micro-batches, letters chunks; where in a pass its exposed communication lies is not drawn: it stands at the end.")), this.timeline.plot.node, this.legend));
    this.choose(this.at);
  }
  time(p) { return p.step_s === null ? p.estimate_s : p.step_s; }
  ranking() {
    const d = this.doc, n = this.more.plans.length, best = this.plans.length ? this.time(this.plans[0]) : 0, into = this.parts.ranking;
    into.append(answer(...(n ? ["The fastest of ", `${count(d.considered)} plans takes `, find(`${seconds(best)} per step`), `, ${digits(this.plans[0].samples_per_s)} samples/s. ${count(d.do_not_fit)} plans do not fit into memory; ${count(n)} of the others were simulated in full, the rest estimated.`] :
      [find("No plan fits."), ` ${count(d.considered)} plans were considered.`, d.least_bytes === null ? "" : ` The smallest needs ${capacity(d.least_bytes)} of ${capacity(this.more.capacity_bytes)}.`])));
    if (!n) return;
    const split = el("div", { class: "panel", style: "margin-bottom:16px" }, el("h3", {}, "What a step of the bottleneck stage is made of"), el("ul", { class: "rows plans", "aria-label": "Make-up of simulated plans" }, this.more.plans.map((m, i) => el("li", {}, el("button", { type: "button", "data-plan": i, "aria-pressed": "false", onclick: () => this.choose(i) },
      nameOf(`${i + 1}: ${this.brief(this.plans[i])}`), el("span", { class: "bar", style: "height:14px" }, el("span", { class: "stack", style: `width:${100 * this.time(this.plans[i]) / Math.max(...this.more.plans.map((_, k) => this.time(this.plans[k])))}%;height:14px;margin:0` }, this.split(m, this.time(this.plans[i])).map(([name, s, slot]) => el("i", { class: slot === "hatch" ? "hatch" : null, title: `${name} ${seconds(s)}`, style: `width:${100 * s / this.time(this.plans[i])}%;` + (slot === "hatch" ? "" : "background:" + css(slot)) })))), el("span", { class: "num" }, seconds(this.time(this.plans[i]))), el("span", { class: "num mute" }, (this.time(this.plans[i]) / best).toFixed(2) + "x"))))),
      legendOf([["compute", "blue"], ...PART_SLOTS.slice(EXPOSED), ["bubble", "hatch"]]));
    this.table = new DataTable({ by: "rank", down: false, label: "Ranking of plans", noun: "plans", searches: "options", file: "plans.csv", height: 360, button: i => "Plan " + (i + 1), pick: i => { if (i < n) this.choose(i); else announce("This plan was only estimated: leadline sim with its options simulates it."); } });
    const of = key => ({ key, name: key, words: ["string", "boolean", "object"].includes(typeof this.plans[0].plan[key]), value: i => { const x = this.plans[i].plan[key]; return x === undefined ? 1 : Array.isArray(x) ? x.join(" ") || "nothing" : typeof x === "boolean" ? (x ? "yes" : "no") : x; }, text: (i, x) => key === "bucket" ? capacity(x) : String(x) });
    into.append(split, this.table.node);
    this.table.set(this.plans.length, [{ key: "rank", name: "plan", value: i => i + 1 }, { key: "time", name: "per step", csv: "step_s", value: i => this.time(this.plans[i]), text: (i, x) => seconds(x) + (this.plans[i].step_s === null ? " estimated" : "") }, { key: "vs", name: "vs. best", value: i => this.plans[i].step_s === null ? null : this.plans[i].step_s / best, text: (i, x) => x === null ? "not simulated" : x.toFixed(2) + "x" },
      { key: "rate", name: "samples/s", csv: "samples_per_s", value: i => this.plans[i].samples_per_s, text: (i, x) => digits(x) }, { key: "memory", name: "peak memory", csv: "memory_bytes", value: i => this.plans[i].memory_bytes, text: (i, x) => x === null ? "not known" : capacity(x) }, { key: "bubble", name: "bubble", value: i => this.plans[i].bubble, text: (i, x) => x === null ? "not simulated" : percent(x) }, { key: "exposed", name: "exposed", csv: "exposed_s", value: i => this.plans[i].exposed_s, text: (i, x) => x === null ? "not simulated" : seconds(x) },
      ...[...new Set([...DEGREES, "micro_batch", ...this.differing(this.plans)])].map(of), { key: "options", name: "options", words: true, value: i => this.plans[i].options }], null, i => this.plans[i].options);
  }
  /* Keys in which these plans differ. */
  differing(plans) { return Object.keys(plans[0].plan).filter(k => plans.some(p => String(p.plan[k]) !== String(plans[0].plan[k]))); }
  /* A simulated plan by its options, without those that all of them have. */
  brief(p) {
    const parts = q => q.options.split(/ (?=--)/).map(o => o.replace(/^--/, "")), others = this.plans.slice(0, this.more.plans.length).map(parts);
    return parts(p).filter(o => DEGREES.includes(o.split(" ")[0]) || others.some(list => !list.includes(o))).join(", ") || "one device";
  }
  /* Seconds of the bottleneck stage; they sum to the step. */
  split(m, step) {
    const s = m.stages[m.slowest], passes = m.micro_batches * (s.forward_s + s.backward_s), exposed = Math.min(passes, m.micro_batches * s.exposed_s);
    return [["compute", passes - exposed, "blue"], ["exposed communication", exposed, "violet"], ["gradient exchange", s.tail_s - s.update_s, "rose"], ["weight update", s.update_s, "gold"], ["bubble", Math.max(0, step - s.busy_s), "hatch"]].filter(p => p[1] > 0);
  }
  choose(i) {
    this.at = i; remember("plan", i || "");
    for (const b of document.querySelectorAll("[data-plan]")) b.setAttribute("aria-pressed", String(+b.dataset.plan === i));
    this.table.mark(i); this.summary(); this.schedule(); this.stages(); announce(`Plan ${i + 1}: ${this.plans[i].options}`);
  }
  summary() {
    const p = this.plans[this.at], m = this.more.plans[this.at], s = m.stages[m.slowest], step = this.time(p), parts = this.split(m, step), most = parts.reduce((a, b) => b[1] > a[1] ? b : a), full = m.stages[m.fullest].memory_bytes, exposed = Object.entries(m.exposed).filter(e => e[1] > 0).sort((a, b) => b[1] - a[1]);
    const cores = `${this.data.again.replace(/^leadline plan/, "leadline sim")} -c ${shell(this.more.c)} ${p.options} ${shell(this.more.trace)}`;
    this.parts.plan.replaceChildren(answer(`Plan ${this.at + 1}: `, el("code", {}, p.options), ". ", find(`${most[0][0].toUpperCase() + most[0].slice(1)} takes ${percent(most[1] / step)}`), ` of the step of the bottleneck stage, stage ${m.slowest}. The fullest, stage ${m.fullest}, holds ${percent(full / this.more.capacity_bytes)} of its memory.`),
      facts(fact("time per step", seconds(step), `estimated ${seconds(p.estimate_s)}`, true), fact("throughput", digits(p.samples_per_s) + " samples/s", `${count(this.doc.batch)} samples per step, ${count(m.micro_batches)} micro-batch${m.micro_batches === 1 ? "" : "es"}`), fact("pipeline bubble", percent(p.bubble), "share of the devices' time in which stages wait"), fact("exposed communication", seconds(p.exposed_s), exposed.length ? exposed.map(([k, v]) => `${k} ${seconds(v)}`).join(", ") : "none"),
        fact("peak memory", capacity(full), `of ${capacity(this.more.capacity_bytes)}`), fact("rate", si(m.flops / step, "FLOP/s"), `of all ${count(this.doc.devices)} devices`), fact("energy per step", si(m.energy_j, "J"), m.energy_j === null ? null : `a mean power of ${si(m.energy_j / step, "W")}`), fact("bound by", Object.entries(m.bottlenecks).reduce((a, b) => b[1] > a[1] ? b : a)[0], Object.entries(m.bottlenecks).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([b, x]) => `${b} ${percent(x)}`).join(", "))),
      el("div", { style: "margin-top:12px" }, command(cores)));
  }
  /* Slices: each pass, its exposed communication, and what comes after the last pass of a stage. */
  schedule() {
    const m = this.more.plans[this.at], step = this.time(this.plans[this.at]), stages = m.stages.length, each = m.passes_each, chunks = this.plans[this.at].plan.chunks || 1, box = this.timeline.plot.node.parentNode;
    box.hidden = !each;
    if (!each) { this.told.textContent = `The step has ${count(2 * m.micro_batches * stages)} passes or more, too many for the page to draw beside those of other plans; --simulate with fewer plans may leave room.`; return; }
    const floats = new Float32Array(this.buffer, m.passes_at, 2 * each * stages), words = new Uint32Array(this.buffer, m.passes_at, 2 * each * stages);
    const n = 2 * each * stages + 2 * stages, start = new Float64Array(n), time = new Float64Array(n), run = new Uint8Array(n), row = new Uint16Array(n), what = new Int32Array(n), kinds = new Set(); let k = 0;
    const put = (s, b, t, kind, id) => { if (t > 0) { start[k] = b; time[k] = t; run[k] = kind; row[k] = s; what[k++] = id; } };
    m.stages.forEach((stage, s) => {
      /* Gradients of weights alone wait for nobody. */
      let end = 0; const length = m.pass_s[s], all = length.reduce((sum, t, i) => sum + (i % 4 === OF_WEIGHTS ? 0 : t), 0), share = all > 0 ? Math.min(1, stage.exposed_s / all) : 0;
      for (let i = 0; i < each; i++) {
        const id = s * each + i, kind = words[2 * id + 1] & 3, exposed = kind === OF_WEIGHTS ? 0 : share, b = floats[2 * id], next = i + 1 < each ? floats[2 * id + 2] : Infinity, t = Math.max(0, Math.min(length[words[2 * id + 1] & 1023], next - b));
        put(s, b, t * (1 - exposed), kind, id); put(s, b + t * (1 - exposed), t * exposed, EXPOSED, id); end = b + t; kinds.add(kind);
      }
      put(s, end, stage.tail_s - stage.update_s, EXCHANGE, -1); put(s, end + stage.tail_s - stage.update_s, stage.update_s, UPDATE, -1);
    });
    const order = Array.from({ length: k }, (_, i) => i).sort((a, b) => start[a] - start[b]), pass = i => { const w = words[2 * what[i] + 1]; return { mb: w >>> 10, chunk: w >>> 2 & 255 }; }, letter = c => chunks > 1 ? String.fromCharCode(65 + c % 26) : "";
    this.timeline.set({ start, time: i => time[i], run, colour: PART_SLOTS.map((_, c) => c), slots: PART_SLOTS.map(p => p[1]), order, end: step, row: i => "stage " + row[i], rowNames: m.stages.map((_, s) => "stage " + s), flows: [], hatched: true, rowHeight: stages > 20 ? 14 : stages > 10 ? 18 : 24, rowGap: stages > 20 ? 2 : 4,
      label: i => what[i] < 0 ? PART_SLOTS[run[i]][0] : run[i] === EXPOSED ? "comm" : pass(i).mb + letter(pass(i).chunk), least: 16,
      words: i => `stage ${row[i]}, ${PART_SLOTS[run[i]][0]}` + (what[i] < 0 ? "" : `\nmicro-batch ${pass(i).mb}` + (chunks > 1 ? `, chunk ${letter(pass(i).chunk)}` : "")) + `\n${seconds(start[i])}, ${seconds(time[i])} long` });
    const legend = legendOf([...PART_SLOTS.filter((_, i) => i >= EXPOSED || kinds.has(i)), ["bubble", "hatch"]]);
    this.legend.replaceWith(legend); this.legend = legend;
    this.told.replaceChildren(stages === 1 ? `One stage runs ${count(m.micro_batches)} micro-batch${m.micro_batches === 1 ? "" : "es"} one after the other.` : `${stages} stages run ${count(m.micro_batches)} micro-batches in the order ${this.plans[this.at].plan.schedule}; stages wait `, ...(stages === 1 ? [] : [find(percent(this.plans[this.at].bubble)), " of their time (hatched)."]));
  }
  stages() {
    const m = this.more.plans[this.at], step = this.time(this.plans[this.at]), classes = Object.keys(MEMORY_COLOURS).filter(c => m.stages.some(s => s.by_class[c] > 0));
    const strip = (list, all) => el("span", { class: "stack", style: "height:14px;margin:0;background:var(--soft)" }, list.map(([name, x, slot, text]) => el("i", { title: `${name} ${text}`, style: `width:${100 * x / all}%;background:${css(slot)}` })));
    this.parts.stages.replaceChildren(answer(`Stage ${m.slowest} is the bottleneck: it is busy `, find(percent(m.stages[m.slowest].busy_s / step)), ` of the step. Stage ${m.fullest} holds `, find(capacity(m.stages[m.fullest].memory_bytes)), ` of ${capacity(m.stages[m.fullest].capacity_bytes)}, the length of its memory bar.`),
      el("div", { class: "panel" }, plainTable("Busy time and memory of stages", [["stage", true], ["busy, of the step", true], ["", false], ["forward", false], ["backward", false], ["in flight", false], ["memory, of the capacity", true], ["peak", false]].map(h => h[0] ? h : ["share", false]), m.stages.map((s, i) => {
        const passes = m.micro_batches * (s.forward_s + s.backward_s), exposed = Math.min(passes, m.micro_batches * s.exposed_s);
        return [[i, s.layers, s.machine].filter(w => w !== undefined).join(" "), el("span", { style: "display:block;min-width:140px" }, strip([["compute", passes - exposed, "blue"], ["exposed communication", exposed, "violet"], ["gradient exchange", s.tail_s - s.update_s, "rose"], ["weight update", s.update_s, "gold"]].map(p => [...p, seconds(p[1])]), step)), i === m.slowest ? find(percent(s.busy_s / step)) : percent(s.busy_s / step), seconds(s.forward_s), seconds(s.backward_s), count(s.in_flight),
          el("span", { style: "display:block;min-width:140px" }, strip(classes.map(c => [c, s.by_class[c], MEMORY_COLOURS[c], capacity(s.by_class[c])]), Math.max(s.capacity_bytes, s.memory_bytes))), i === m.fullest ? find(capacity(s.memory_bytes)) : capacity(s.memory_bytes)];
      }), 560), legendOf(classes.map(c => [c, MEMORY_COLOURS[c]]))));
  }
}
views.plan = async data => { new PlanPage(data, $("columns") ? await unpackBytes("columns") : null); };
