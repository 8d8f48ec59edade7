/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a comparison. */
import { try_page } from "./harness.mjs";

await try_page(async ({ tab, holds, check, saved }) => {
  const rows = () => tab.locator("#changes .rows").innerText(), kinds = await rows(), first = await tab.locator("#rows tbody td").first().innerText();
  holds("the largest change stands first in the table, the steps and the sentence", (await tab.locator("#changes .rows .name").nth(1).innerText()) === first && (await tab.locator("#summary .answer").innerText()).includes(first));
  await tab.locator("#changes .seg label", { hasText: /^op$/ }).click();
  holds("ops are other rows", await rows() !== kinds);
  holds("the choice is in the address", /by=op/.test(tab.url()));
  await check();
  await tab.locator("#rows input[type=search]").fill("fc6");
  holds("a search keeps what matches", /^[1-9]\d* of/.test(await tab.locator("#rows [role=status]").innerText()));
  const lines = (await saved(tab.locator("#rows button", { hasText: "CSV" }))).trim().split("\n");
  holds("the CSV has these rows", lines.length - 1 === parseInt(await tab.locator("#rows [role=status]").innerText(), 10) && lines[0].includes("difference_s"));
});
