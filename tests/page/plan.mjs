/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a plan search. */
import { try_page } from "./harness.mjs";

await try_page(async ({ tab, holds, picture, check }) => {
  const chosen = () => tab.locator("#plan .answer").innerText(), first = await chosen(), schedule = await picture("#schedule canvas");
  const names = await tab.locator("#ranking .rows .name").allInnerTexts();
  holds("no two plans have one name", new Set(names.map(n => n.replace(/^\d+: /, ""))).size === names.length);
  const piped = tab.locator("#ranking .rows button", { hasText: /pp / });
  holds("a plan with stages is among the simulated", await piped.count() > 0);
  await piped.first().focus();
  await tab.keyboard.press("Enter");
  holds("a plan is chosen by keyboard", await chosen() !== first || await tab.locator("#ranking .rows button").first().getAttribute("aria-pressed") === "true");
  holds("its options are in the command", (await tab.locator("#plan .cmd code").innerText()).startsWith("leadline sim ") && /--pp \d+/.test(await tab.locator("#plan .cmd code").innerText()));
  holds("the address knows it", /plan=\d|^[^#]*#?[^p]*$/.test(tab.url()));
  holds("there is a row of stages each", await tab.locator("#stages tbody tr").count() > 1);
  holds("stages wait", /stages wait/.test(await tab.locator("#schedule .answer").innerText()));
  const whole = await picture("#schedule canvas");
  await tab.locator("#schedule canvas").focus();
  for (let i = 0; i < 4; i++) await tab.keyboard.press("w");
  holds("W zooms the schedule", await picture("#schedule canvas") !== whole);
  await tab.keyboard.press("ArrowRight");
  holds("an arrow reads a pass aloud", /stage \d+, .*micro-batch/s.test(await tab.locator("#status").innerText()) || /stage/.test(await tab.locator("#status").textContent()));
  await check();
  await tab.locator("#ranking input[type=search]").fill("no such plan");
  holds("a search without a match says 0", /^0 of/.test(await tab.locator("#ranking [role=status]").innerText()));
});
