/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a trace. */
import { try_page } from "./harness.mjs";

await try_page(async ({ tab, holds, picture, check }) => {
  const told = () => tab.locator("#kinds .answer").innerText(), flops = await told();
  await tab.locator("#kinds .seg label", { hasText: "bytes" }).click();
  holds("another measure is another answer", await told() !== flops);
  await tab.locator("#kinds .seg label", { hasText: "phase" }).click();
  holds("phases are grouped", /backward|update|forward/.test(await told()));
  holds("the choice is in the address", /by=phase/.test(tab.url()) && /what=bytes/.test(tab.url()));
  await check();
  holds("memory is drawn", (await picture("#memory canvas")).length > 5000);
  holds("what is alive at the peak is listed", await tab.locator("#memory tbody tr").count() > 3);
  await tab.locator("#kinds input[type=search]").fill("conv2d");
  holds("a search keeps what matches", /^[1-9]\d* of/.test(await tab.locator("#kinds [role=status]").innerText()));
});
