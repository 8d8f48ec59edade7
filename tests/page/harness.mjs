/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of all pages share: a page is opened in headless Chromium at three widths in both schemes, used by
 * real events, and read by axe-core. Modules come from PAGE_MODULES.
 *     try_page(async ({ tab, holds, picture }) => ...) ends with 1 and a sentence for each thing that does not hold. */
import { createRequire } from "node:module";
const require = createRequire(process.env.PAGE_MODULES + "/");
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;
const [executablePath, page, shots] = process.argv.slice(2);
const failures = [];

/* Contrast of two colours (WCAG 2, relative luminance). */
function contrast(a, b) {
  const light = text => { const [r, g, b] = text.match(/[\d.]+/g).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}

async function well_formed(tab, where, holds) {
  holds("no sideways scroll", await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  holds("hostile text makes no element", await tab.evaluate(() => !document.querySelector("b.hostile") && !window.hostile));
  holds("nothing is shown as [object ...], NaN, undefined", await tab.evaluate(() => !/\[object |\bNaN\b|\bundefined\b|\bInfinity\b/.test(document.body.innerText)));
  const inks = await tab.evaluate(() => { const p = document.createElement("i"), of = n => { p.style.color = `var(--${n})`; return getComputedStyle(p).color; }; document.body.append(p);
    const names = ["blue", "navy", "teal", "gold", "orange", "violet", "rose", "grey", ...[0, 1, 2, 3, 4, 5, 6].map(k => "ramp" + k)], out = [of("panel"), names.map(n => [n, of(n)])]; p.remove(); return out; });
  for (const [name, ink] of inks[1]) holds(`${name} has a contrast of 3 on a panel`, contrast(ink, inks[0]) >= 3);
}

export async function try_page(use) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"] });
  for (const colorScheme of ["light", "dark"])
    for (const width of [400, 1200, 2000]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, acceptDownloads: true });
      const tab = await context.newPage(), where = ` (${width} px, ${colorScheme})`, holds = (claim, value) => { if (!value) failures.push(claim + where); };
      tab.on("pageerror", e => failures.push("a script error: " + e.message + where));
      tab.on("request", r => holds("the page asks nothing of a network: " + r.url(), /^(file|blob|data):/.test(r.url())));
      await tab.goto("file://" + page);
      await tab.waitForSelector("html[data-ready]", { timeout: 30000 });
      await tab.waitForTimeout(200);
      await well_formed(tab, where, holds);
      if (shots) await tab.screenshot({ path: `${shots}/${colorScheme}_${width}.png`, fullPage: true });
      const check = async () => { await tab.evaluate(axe); for (const v of (await tab.evaluate(() => axe.run())).violations) failures.push(`axe-core ${v.id}: ${v.nodes.map(n => n.target.join(" ")).slice(0, 3).join(", ")}` + where); };
      await check();
      /* What a canvas shows, after the frame that an event asked for. */
      const picture = async selector => { await tab.waitForTimeout(80); return tab.locator(selector).evaluate(c => c.toDataURL()); };
      const saved = async button => { const [file] = await Promise.all([tab.waitForEvent("download"), button.click()]); const stream = await file.createReadStream(); let text = ""; for await (const part of stream) text += part.toString("latin1"); return text; };
      try { await use({ tab, holds, picture, check, saved, width, where }); } catch (e) { failures.push(e.message + where); }
      await context.close();
    }
  await browser.close();
  for (const f of failures) console.error("FAIL " + f);
  process.exit(failures.length ? 1 : 0);
}
