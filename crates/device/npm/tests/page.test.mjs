// The news page of examples/web in Chromium, with the real service behind it: what it says about what leaves is what leaves.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launch } from "./parts/chromium.mjs";
import { missing, start } from "./parts/service.mjs";

const example = (name) => fileURLToPath(new URL(`../../../../examples/web/${name}`, import.meta.url));
const config = example("loops.toml");
const skipped = missing(config);
const { browser, missing: none } = skipped ? { missing: skipped } : await launch();
if (none && !skipped) console.error(none);
const folder = await mkdtemp(join(tmpdir(), "reticent-page-"));
const running = [];
after(async () => {
  await browser?.close();
  running.forEach((stop) => stop());
  await rm(folder, { recursive: true, force: true });
});

/** The address of the page. */
async function serve() {
  const { address, key, stop } = await start(config, folder);
  const site = spawn(process.execPath, [example("serve.mjs"), "--service", address, "--key", key, "--port", "0"]);
  running.push(stop, () => site.kill());
  return new Promise((resolve) => site.stdout.once("data", (line) => resolve(String(line).trim())));
}

test("the page keeps to what the visitor chose, and says what has left", { skip: none ?? false, timeout: 60_000 }, async () => {
  const address = await serve();
  const context = await browser.newContext();
  const page = await context.newPage();
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.postData()));
  const open = async (epsilon) => {
    if (epsilon !== undefined) await page.evaluate((value) => localStorage.setItem("epsilon", value), epsilon);
    await page.goto(address);
    await page.waitForSelector("#stories button");
  };
  const chosen = () => page.locator("input[name=level]:checked").inputValue();
  const said = () => page.locator("#leaves").innerText();
  const read = async () => {
    const before = await said();
    await page.locator("#stories button").first().click();
    await page.waitForFunction((text) => document.getElementById("leaves").innerText !== text, before);
  };

  // The strictest level unless the visitor chooses another; a level is remembered by its epsilon.
  await open();
  assert.equal(await chosen(), "2");
  await page.locator("input[name=level][value='4']").check();
  await open();
  assert.equal(await chosen(), "4");
  for (const [stored, expected] of [["3", "2"], ["5", "4"], ["100", "8"], ["1", "nothing"], ["nothing", "nothing"]]) {
    await open(stored);
    assert.equal(await chosen(), expected, stored);
  }
  await read();
  assert.match(await said(), /Nothing was reported: you chose so/);
  assert.deepEqual(sent, []);

  // The server takes a report, whose bytes the page shows.
  await open("4");
  await read();
  assert.match(await said(), /The server has them/);
  const shown = await page.locator("#bytes").innerText();
  assert.deepEqual(sent, [shown]);
  assert.equal(JSON.parse(shown).reports[0].level, 1);

  // Its answer is lost: the page does not say that nothing has left.
  await page.route("**/reports/batch", (route) => route.abort());
  await read();
  assert.match(await said(), /may have left this device, and are sent again later/);
  assert.match(await page.locator("#left").innerText(), /1 wait to be sent again/);
  // Nothing leaves while "Nothing" is chosen, also not what waits.
  await page.unroute("**/reports/batch");
  const before = sent.length;
  await open("nothing");
  await page.waitForLoadState("networkidle");
  assert.equal(sent.length, before);
  // Chosen anew it throws away what waits, and says so.
  await open("4");
  await page.waitForFunction(() => !document.getElementById("left").innerText.includes("wait to be sent"));
  assert.equal(sent.length, before + 1);
  await page.route("**/reports/batch", (route) => route.abort());
  await read();
  await page.unroute("**/reports/batch");
  await page.locator("input[name=level][value='nothing']").check();
  await page.waitForFunction(() => document.getElementById("leaves").innerText.startsWith("1 reports that had not arrived"));
  const quiet = sent.length;
  await open("4");
  await page.waitForLoadState("networkidle");
  assert.equal(sent.length, quiet);
  await context.close();
});
