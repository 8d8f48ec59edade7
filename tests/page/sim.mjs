/* SPDX-License-Identifier: Apache-2.0 */
/* The page of simulated steps. */
import { try_page } from "./harness.mjs";

await try_page(async ({ tab, holds, picture, check }) => {
  const rows = async () => tab.locator("#ops [role=status]").first().innerText();
  const all = await rows();
  await tab.locator("#breakdown .rows button").first().click();
  holds("a part of the breakdown filters the ops", await rows() !== all);
  await tab.locator("#ops .chips button").click();
  holds("the chip removes the filter", await rows() === all);
  await tab.locator("#ops input[type=search]").fill("no such op");
  holds("a search without a match says 0", /^0 of/.test(await rows()));
  await tab.locator("#ops input[type=search]").fill("");
  await tab.locator("#ops td button").first().focus();
  await tab.keyboard.press("Enter");
  holds("an op opens its derivation by keyboard", await tab.locator(".derive dd").count() > 0);
  await check();
  await tab.keyboard.press("Escape");
  holds("Escape closes the derivation", await tab.locator(".derive").count() === 0);
  holds("and the focus goes back to the op", await tab.evaluate(() => !!document.activeElement.closest("#ops")));
  const before = await picture("#timeline canvas");
  await tab.locator("#timeline canvas").focus();
  await tab.keyboard.press("w");
  holds("W zooms the timeline", await picture("#timeline canvas") !== before);
  await tab.keyboard.press("0");
  await tab.locator("#breakdown .seg label", { hasText: "phase" }).click();
  holds("the grouping is in the address", /by=phase/.test(tab.url()));
  await tab.locator("header select").first().selectOption("2");
  holds("a machine with cores shows tiles", /^[\d,]+ tiles of \d+ ops on 4 cores/.test(await tab.locator("#timeline .answer").innerText()));
  await tab.locator("#timeline canvas").focus();
  const tiles = await picture("#timeline canvas");
  await tab.keyboard.press("ArrowRight");
  holds("a tile can be stepped to", await picture("#timeline canvas") !== tiles);
  await tab.keyboard.press("Enter");
  holds("and opens its op", await tab.locator(".derive dd").count() > 0);
});
