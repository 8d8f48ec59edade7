/* The page of studies, one or many: figures beside the published ones, tables, criteria. */
const VERDICTS = [["PASS", "passed", "holds", "teal"], ["EXPLAINED", "explained", "explained", "gold"], ["INCONCLUSIVE", "inconclusive", "inconclusive", "violet"], ["SKIPPED", "skipped", "skipped", "grey"], ["FAIL", "failed", "does not hold", "rose"]];

class StudyPage {
  constructor(data) {
    const all = this.all = data.document.studies.map((s, i) => ({ ...s, more: data.more.studies[i], id_: "study" + i }));
    this.one = all.length === 1;
    if (this.one) return this.single(data, all[0]);
    this.parts = frame(data, { brand: "Leadline studies", title: data.title, sections: [["summary", "Summary"], ["list", "Studies"], ...all.map(s => [s.id_, s.id, s.title])] });
    const sum = key => all.reduce((n, s) => n + s[key], 0), judged = VERDICTS.reduce((n, v) => n + sum(v[1]), 0);
    this.parts.summary.append(answer(find(`${count(sum("passed"))} of ${count(judged)} criteria hold`), ` in ${count(all.length)} studies. `, sum("failed") ? find(`${count(sum("failed"))} do not, in ${all.filter(s => s.failed).map(s => s.id).join(", ")}.`) : "None fails."), facts(...VERDICTS.map(([, key, words, ]) => fact(words, count(sum(key)), percent(judged ? sum(key) / judged : 0))), fact("studies", count(all.length))));
    const table = new DataTable({ by: "failed", label: "Studies by verdict", noun: "studies", searches: "title, paper", file: "studies.csv", button: i => "Go to " + all[i].id, pick: i => $(all[i].id_).scrollIntoView() });
    this.parts.list.append(table.node);
    table.set(all.length, [{ key: "id", name: "study", words: true, value: i => all[i].id }, { key: "title", name: "what it shows", words: true, value: i => all[i].title }, { key: "paper", name: "paper", words: true, value: i => all[i].paper }, ...VERDICTS.map(([, key, words]) => ({ key, name: words, csv: key, value: i => all[i][key], text: (i, x) => count(x) }))], null, i => `${all[i].id} ${all[i].title} ${all[i].paper}`);
    for (const s of all) this.parts[s.id_].append(this.paper(s), s.more.page ? el("p", {}, el("a", { href: s.more.page }, `The page of ${s.id}, with tables and notes`)) : el("p", {}, s.more.doc), el("div", { class: "grid two tops" }, s.more.figures.length ? el("div", { class: "grid" }, this.figures(s)) : null, this.criteria(s)), ...(s.more.page ? [] : [this.tables(s), this.recorded(s)].map(e => el("div", { style: "margin-top:16px" }, e))));
  }
  single(data, s) {
    const has = list => list.length > 0;
    this.parts = frame(data, { brand: `Leadline study ${s.id}`, title: s.title, sections: [["summary", "Summary"], ...(has(s.more.figures) ? [["figures", "Figures"]] : []), ["criteria", "Criteria"], ...(has(s.tables) ? [["tables", "Tables"]] : []), ...(has(s.notes) ? [["notes", "Notes"]] : []), ["recorded", "Recorded", "What was recorded and simulated"]] });
    const judged = VERDICTS.reduce((n, v) => n + s[v[1]], 0);
    this.parts.summary.append(answer(find(`${count(s.passed)} of ${count(judged)} criteria hold.`), s.failed ? [" ", find(`${count(s.failed)} do not.`)] : "", " ", s.more.doc), this.paper(s));
    if (this.parts.figures) this.parts.figures.append(el("div", { class: "grid two tops" }, this.figures(s)));
    this.parts.criteria.append(this.criteria(s));
    if (this.parts.tables) this.parts.tables.append(this.tables(s));
    if (this.parts.notes) this.parts.notes.append(...s.notes.map(n => el("p", {}, n)));
    this.parts.recorded.append(this.recorded(s));
  }
  paper(s) { return el("p", { class: "mute" }, `${s.id}, after ${s.paper}`); }
  /* A figure is a picture of its own: no text in it can become markup of the page. */
  figures(s) {
    return s.more.figures.filter(f => f.svg).map(f => el("figure", { class: "panel" }, el("img", { loading: "lazy", alt: f.caption, src: URL.createObjectURL(new Blob([f.svg], { type: "image/svg+xml" })) }), el("figcaption", {}, f.caption)));
  }
  criteria(s) {
    if (!s.criteria.length) return el("p", {}, "It has no criteria.");
    const why = c => [c.cause ? "Cause: " + c.cause.replace(/_/g, " ") : "", c.arithmetic, c.needed ? "Needed: " + c.needed : "", c.why_no_criterion || c.why_skipped, c.spread !== undefined && c.spread !== null ? `Repetitions spread by ${percent(c.spread)}` : ""].filter(t => t).map(t => (t[0].toUpperCase() + t.slice(1)).replace(/\.?$/, ".")).join(" ");
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Criteria of " + s.id }, el("table", { class: "wrap" }, el("thead", {}, el("tr", {}, ["verdict", "claim", "measured", "wanted"].map(h => el("th", { scope: "col", class: "l" }, h)))),
      el("tbody", {}, s.criteria.map(c => el("tr", {}, el("td", { class: "l " + c.verdict }, c.verdict), el("td", { class: "l claim" }, c.claim, why(c) ? el("div", { class: "mute" }, why(c)) : null), el("td", { class: "l" }, c.measured || "none"), el("td", { class: "l" }, c.wanted || "none"))))));
  }
  tables(s) {
    return el("div", { class: "grid" }, s.tables.map((t, i) => { const names = t.rows.length ? Object.keys(t.rows[0]) : Object.keys(s.more.decimals[i]), decimals = s.more.decimals[i];
      return el("div", {}, el("p", { class: "mute", style: "margin:0 0 8px" }, t.caption || t.name || "Table"), plainTable((t.caption || t.name || "Table " + (i + 1)) + " (" + s.id + ")", names.map(n => [n, decimals[n] === undefined]), t.rows.map(r => names.map(n => r[n] === null ? "" : decimals[n] === undefined ? r[n] : r[n].toLocaleString("en-US", { minimumFractionDigits: decimals[n], maximumFractionDigits: decimals[n] }))), 520)); }));
  }
  recorded(s) {
    const record = r => `leadline ${r.lesson ? "train" : "record"} ${shell(r.model)}${r.lesson ? "" : ` --${r.mode}${r.dry_run ? " --dry-run" : ""}`}${r.batch ? " --batch " + r.batch : ""} --steps ${r.steps}${r.threads ? " --threads " + r.threads : ""}` + Object.entries(r.settings).map(([k, v]) => ` -p ${shell(k + "=" + v)}`).join("");
    const lists = [["Recorded", s.recordings.map(r => [`${r.row}${r.variant ? ", " + r.variant : ""}`, record(r)])], ["Simulated", s.machines.map(m => [m.name, "-c " + shell(m.machine) + Object.entries(m.set).map(([k, v]) => ` --set ${shell(k + "=" + v)}`).join("")])]].filter(l => l[1].length);
    return lists.length ? el("div", { class: "grid two" }, lists.map(([title, rows]) => el("div", {}, el("h3", {}, title), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title} for ${s.id}`, style: "max-height:360px" }, el("table", { class: "wrap" }, el("thead", {}, el("tr", {}, ["what", "command"].map(h => el("th", { scope: "col", class: "l" }, h)))), el("tbody", {}, rows.map(([n, c]) => el("tr", {}, el("td", { class: "l" }, n), el("td", { class: "l claim" }, el("code", {}, c)))))))))) : el("p", {}, "Nothing was recorded.");
  }
}
views.study = data => { new StudyPage(data); };
