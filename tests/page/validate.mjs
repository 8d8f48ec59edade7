/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a validation: its errors are those of the program. */
import { readFileSync } from "node:fs";
import { try_page } from "./harness.mjs";
const expected = JSON.parse(readFileSync(process.env.EXPECTED));

await try_page(async ({ tab, holds, picture, check }) => {
  const told = () => tab.locator("#scatter .answer").innerText(), all = await told(), mape = 100 * expected.overall.mape;
  holds(`the mean error is that of the program, ${mape.toFixed(0)} %`, all.includes(`${mape.toFixed(0)}\u00a0% MAPE`) && all.includes(expected.overall.points.toLocaleString("en-US")));
  const before = await picture("#scatter canvas");
  await tab.locator("#scatter select").nth(1).selectOption({ index: 1 });
  holds("a family alone is another picture", await picture("#scatter canvas") !== before && await told() !== all);
  holds("the choice is in the address", /family=/.test(tab.url()));
  await tab.locator("#scatter canvas").focus();
  await tab.keyboard.press("w");
  await tab.keyboard.press("ArrowRight");
  const worst = await tab.locator("#worst tbody tr.sel").innerText();
  holds("an arrow marks the worst row", worst.length > 20);
  await check();
  await tab.locator("#worst th button", { hasText: "measured" }).click();
  holds("rows are sorted by their heads", await tab.locator("#worst th[aria-sort]").innerText() !== "error ▼");
  await tab.locator("#scatter .seg label", { hasText: "roofline" }).click();
  holds("the roofline can be seen instead", /plain roofline/.test(await told()));
});
