/* SPDX-License-Identifier: Apache-2.0 */
/* The page of several studies. */
import { try_page } from "./harness.mjs";

await try_page(async ({ tab, holds, check }) => {
  holds("the sentence counts criteria", /\d+ of \d+ criteria hold/.test(await tab.locator("#summary .answer").innerText()));
  holds("each study has its section", await tab.locator("section[id^=study]").count() === 2);
  await tab.locator("figure img").first().scrollIntoViewIfNeeded();
  await tab.waitForTimeout(200);
  holds("figures are drawn", await tab.evaluate(() => [...document.querySelectorAll("figure img")].some(i => i.naturalWidth > 100)));
  holds("verdicts are words", /PASS|EXPLAINED|INFO/.test(await tab.locator("#study1 table").first().innerText()));
  await tab.locator("#list tbody button").last().focus();
  await tab.keyboard.press("Enter");
  await tab.waitForTimeout(200);
  holds("the list leads to a study", await tab.evaluate(() => scrollY > 100));
  await check();
});
