/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a serving: its figures are those of the program. */
import { readFileSync } from "node:fs";
import { try_page } from "./harness.mjs";
const expected = JSON.parse(readFileSync(process.env.EXPECTED));

await try_page(async ({ tab, holds, picture, check, saved }) => {
  const text = selector => tab.locator(selector).innerText(), ms = s => (1e3 * s).toFixed(0);
  holds("the summary has the program's throughput", (await text("#summary .answer")).includes(Math.round(expected.output_tokens_per_s).toLocaleString("en-US")));
  holds("what bounds a step is there, for prefill and decode", await tab.locator("#summary .rows .row").count() === 2);
  holds("the limit is that of the command", (await text("#summary .answer")).includes("TTFT 300\u00a0ms"));
  const cells = await tab.locator("#latency tbody tr").first().locator("td").allInnerTexts();
  holds("percentiles are those of the program", parseFloat(cells[1]).toFixed(0) === ms(expected.ttft_s.p50) && cells.length === 5);
  const curve = await picture("#latency canvas"), told = await text("#latency .answer");
  await tab.locator("#latency .seg label", { hasText: /^TPOT$/ }).click();
  holds("another latency is another curve and another sentence", await picture("#latency canvas") !== curve && await text("#latency .answer") !== told);
  holds("the choice is in the address", /latency=TPOT/.test(tab.url()));
  await tab.locator("#latency canvas").focus(); await tab.keyboard.press("ArrowRight");
  holds("an arrow reads the curve", /of requests within/.test(await text("#status")));
  const time = await picture("#time canvas");
  await tab.locator("#time canvas").focus(); await tab.keyboard.press("w"); await tab.keyboard.press("ArrowRight");
  holds("an arrow reads an interval", /output tokens\/s/.test(await text("#status")) && await picture("#time canvas") !== time);
  const batches = await text("#batches .answer");
  await tab.locator("#top .seg label", { hasText: /^decode$/ }).click();
  holds("another pool is another picture, and in the address", await picture("#time canvas") !== time && /pool=decode/.test(tab.url()));
  holds("batches are those of the pool", await text("#batches .answer") !== batches);
  holds("each instance has a row", await tab.locator("#instances tbody tr:not([aria-hidden])").count() === 3);
  const points = await picture("#requests canvas");
  await tab.locator("#requests tbody td button").first().click();
  holds("a request of the table is marked in the plot", await picture("#requests canvas") !== points && /request \d/.test(await text("#status")));
  const lines = (await saved(tab.locator("#requests button", { hasText: "CSV" }))).trim().split("\n");
  holds("the CSV has all requests", lines.length - 1 === expected.requests && lines[0].includes("ttft_s"));
  await check();
});
