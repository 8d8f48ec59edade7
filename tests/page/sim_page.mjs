/* SPDX-License-Identifier: Apache-2.0 */
/* A page of simulated steps, opened and used in headless Chromium by real events, and read by axe-core:
 *     node sim_page.mjs CHROMIUM PAGE.html [SHOTS] ; modules from NODE_PATH.
 * Ends with 1 and a sentence for each thing that does not hold. */
import { createRequire } from "node:module";
const require = createRequire(process.env.PAGE_MODULES + "/");
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;
const [executablePath, page, shots] = process.argv.slice(2);
const failures = [];
const holds = (claim, value) => { if (!value) failures.push(claim); };

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const colorScheme of ["light", "dark"])
  for (const width of [400, 1200, 2000]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
    const tab = await context.newPage();
    const where = ` (${width} px, ${colorScheme})`;
    tab.on("pageerror", e => failures.push("a script error: " + e.message + where));
    tab.on("request", r => holds("the page asks nothing of a network: " + r.url() + where, /^(file|blob|data):/.test(r.url())));
    await tab.goto("file://" + page);
    await tab.waitForSelector("html[data-ready]", { timeout: 30000 });
    const rows = async () => tab.locator("#ops [role=status]").innerText();
    const all = await rows();
    holds("no sideways scroll" + where, await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    holds("hostile text makes no element" + where, await tab.evaluate(() => !document.querySelector("b.hostile") && !window.hostile));
    await tab.waitForTimeout(200);
    if (shots) await tab.screenshot({ path: `${shots}/${colorScheme}_${width}.png`, fullPage: true });
    await tab.locator("#breakdown .rows button").first().click();
    const some = await rows();
    holds("a part of the breakdown filters the ops" + where, some !== all);
    await tab.locator("#ops .chips button").click();
    holds("the chip removes the filter" + where, await rows() === all);
    await tab.locator("#ops input[type=search]").fill("no such op");
    holds("a search without a match says 0" + where, /^0 of/.test(await rows()));
    await tab.locator("#ops input[type=search]").fill("");
    await tab.locator("#ops td button").first().focus();
    await tab.keyboard.press("Enter");
    holds("an op opens its derivation by keyboard" + where, await tab.locator(".derive dd").count() > 0);
    const results = async () => { await tab.evaluate(axe); return (await tab.evaluate(() => axe.run())).violations; };
    for (const v of await results()) failures.push(`axe-core ${v.id}: ${v.nodes.map(n => n.target.join(" ")).slice(0, 3).join(", ")}` + where);
    await tab.keyboard.press("Escape");
    holds("Escape closes the derivation" + where, await tab.locator(".derive").count() === 0);
    const plot = tab.locator("#timeline canvas");
    const picture = () => plot.evaluate(c => c.toDataURL());
    const before = await picture();
    await plot.focus();
    await tab.keyboard.press("w");
    await tab.waitForTimeout(100);
    holds("W zooms the timeline" + where, await picture() !== before);
    await tab.keyboard.press("0");
    await tab.locator("#breakdown .seg label", { hasText: "phase" }).click();
    holds("the grouping is in the address" + where, /by=phase/.test(tab.url()));
    await context.close();
  }
await browser.close();
for (const f of failures) console.error("FAIL " + f);
process.exit(failures.length ? 1 : 0);
