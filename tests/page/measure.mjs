/* SPDX-License-Identifier: Apache-2.0 */
/* How fast is a page in headless Chromium under software rendering? By hand, no judgement:
 *     node measure.mjs CHROMIUM PAGE.html CANVAS    modules from PAGE_MODULES; CANVAS: a selector, as "#timeline canvas"
 * Prints when the browser first painted, when all was drawn, and how long frames took while the canvas was panned and
 * zoomed by real wheel events, one a frame. */
import { createRequire } from "node:module";
const require = createRequire(process.env.PAGE_MODULES + "/");
const { chromium } = require("playwright-core");
const [executablePath, page, selector] = process.argv.slice(2), EVENTS = 150;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"] });
const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await tab.goto("file://" + page);
await tab.waitForSelector("html[data-ready]", { timeout: 60000 });
await tab.waitForTimeout(500);
const first = await tab.evaluate(() => performance.getEntriesByName("first-contentful-paint").map(e => e.startTime)[0]);
console.log(`first paint ${first === undefined ? "not reported" : first.toFixed(0) + " ms"}, ready ${await tab.evaluate(() => document.documentElement.dataset.ready)} ms after navigation`);
await tab.locator(selector).first().scrollIntoViewIfNeeded();
await tab.locator(selector).first().focus();
const box = await tab.locator(selector).first().boundingBox(), x = box.x + box.width / 2, y = box.y + Math.min(60, box.height / 2);
await tab.mouse.move(x, y);
for (const [what, keys] of [["zoom", ["w", "w", "w", "w", "w", "w"]], ["zoom further", ["w", "w", "w", "w", "w", "w"]]]) {
  for (const k of keys) await tab.keyboard.press(k);
  for (const [name, dx, dy] of [["pan", 40, 0], ["zoom", 0, 30]]) {
    await tab.evaluate(() => { window.frames_ = []; let last = performance.now(); window.watching = true; const f = t => { window.frames_.push(t - last); last = t; if (window.watching) requestAnimationFrame(f); }; requestAnimationFrame(f); });
    for (let i = 0; i < EVENTS; i++) { await tab.mouse.wheel(i < EVENTS / 2 ? dx : -dx, i % 2 ? dy : -dy); await tab.evaluate(() => new Promise(requestAnimationFrame)); }
    const frames = (await tab.evaluate(() => { window.watching = false; return window.frames_.slice(2); })).sort((a, b) => a - b), at = q => frames[Math.min(frames.length - 1, Math.floor(q * frames.length))];
    console.log(`${what}, ${name}: ${frames.length} frames, median ${at(0.5).toFixed(1)} ms, 95 % ${at(0.95).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms`);
  }
}
console.log(`heap ${(await tab.evaluate(() => performance.memory ? performance.memory.usedJSHeapSize / 1e6 : 0)).toFixed(0)} MB`);
await browser.close();
