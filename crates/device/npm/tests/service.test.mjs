// Devices against the real service, in Node and in Chromium: 2,000 simulated visitors teach it the right action, and it never sees a raw reward.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Client } from "../js/client.js";
import { memoryStorage, Person } from "../js/index.js";
import { launch } from "./parts/chromium.mjs";
import { missing, start } from "./parts/service.mjs";
import { serve } from "./parts/site.mjs";
import { teach, TOPICS } from "./parts/visitors.mjs";

const LOOPS = `
[loop.front]
trust = "device"
privacy = { epsilon = 8.0, delta = 1e-6, visits = 1, per = "ever" }
learner = { tick = "1 second" }
reward = { range = [0, 1] }
[loop.front.action]
topic = { categories = ${JSON.stringify(TOPICS)} }
`;

const folder = await mkdtemp(join(tmpdir(), "reticent-service-"));
const config = join(folder, "loops.toml");
await writeFile(config, LOOPS);
const stops = [];
after(async () => {
  for (const stop of stops) await stop();
  await rm(folder, { recursive: true, force: true });
});

/** A service of its own, which has learnt nothing. */
async function service(name) {
  await mkdir(join(folder, name));
  const started = await start(config, join(folder, name));
  stops.push(started.stop);
  return started;
}

test("2,000 visitors teach the service which topic is liked", { skip: missing(config), timeout: 120_000 }, async () => {
  const { address, key } = await service("node");
  const shares = await teach({ address, key, Person, memoryStorage });
  assert.ok(shares.at(-1) > 0.8, `shares of the liked topic: ${shares}`);
  // One device through the client, from the protocol to the report's acknowledgement.
  const client = new Client(address, "front", { key, timeout: 10_000 });
  const device = await client.device({ storage: memoryStorage() });
  const { choice } = device.choose({}, TOPICS.map((topic) => ({ topic })));
  await device.report(1, choice);
  assert.deepEqual(await device.person.unsent(), []);
  assert.equal((await device.person.status()).left, 0);
});

const chromium = await launch();
if (chromium.missing) console.error(chromium.missing);
if (chromium.browser) stops.push(() => chromium.browser.close());

test("2,000 visitors in a page do so too", { skip: chromium.missing ?? missing(config), timeout: 120_000 }, async () => {
  const { address, key } = await service("page");
  const site = await serve({
    "/": ["text/html", "<!doctype html><title>visitors</title>"],
    "/visitors.mjs": ["text/javascript", await readFile(new URL("parts/visitors.mjs", import.meta.url))],
  });
  stops.push(site.close);
  const page = await chromium.browser.newPage();
  await page.goto(site.address);
  const visits = async ({ address, key }) => {
    const [{ Person, memoryStorage }, { teach }] = await Promise.all([import("/js/index.js"), import("/visitors.mjs")]);
    return teach({ address, key, Person, memoryStorage });
  };
  const shares = await page.evaluate(visits, { address, key });
  assert.ok(shares.at(-1) > 0.8, `shares of the liked topic: ${shares}`);
});
