// Devices in Node and in Chromium through the real shuffler to the real service: every report arrives once, in both modes.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as ask } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Client } from "../js/client.js";
import { fileStorage } from "../js/node.js";
import { launch } from "./parts/chromium.mjs";
import { missing, start, startShuffler, until } from "./parts/service.mjs";
import { serve } from "./parts/site.mjs";

const LIMITS = { epsilon: 4, delta: 1e-3 };
const BATCH = 4;
const VISITS = { sealed: 1, sum: 4 };
const actions = [{ topic: "news" }, { topic: "sport" }];
const loops = (mode) => `
[loop.mixed]
trust = "shuffler"
privacy = { epsilon = ${LIMITS.epsilon}, delta = ${LIMITS.delta}, visits = ${VISITS[mode]}, per = "ever" }
learner = { tick = "1 second" }
shuffle = { batch = ${BATCH}, mode = "${mode}", cap = ${BATCH} }
reward = { range = [0, 1] }
[loop.mixed.action]
topic = { categories = ["news", "sport"] }
`;

const folder = await mkdtemp(join(tmpdir(), "reticent-shuffler-"));
const configs = {};
for (const mode of Object.keys(VISITS)) {
  configs[mode] = join(folder, `${mode}.toml`);
  await writeFile(configs[mode], loops(mode));
}
const skipped = missing(configs.sealed);
const { browser, missing: none } = skipped ? { missing: skipped } : await launch();
if (none && !skipped) console.error(none);
const running = [];
after(async () => {
  await browser?.close();
  running.forEach((stop) => stop());
  await rm(folder, { recursive: true, force: true });
});

/** A service and its shuffler, and a line between devices and shuffler that notes requests and loses a given number of answers to reports. */
async function world(mode, name) {
  const place = join(folder, name);
  await mkdir(place);
  const service = await start(configs[mode], place, "mixed");
  running.push(service.stop);
  const shuffler = await startShuffler(configs[mode], place, service, service.newKey("mixed", "shuffle"));
  running.push(shuffler.stop);
  const line = { lost: 0, seen: [] };
  const server = createServer((incoming, response) => {
    const parts = [];
    incoming.on("data", (part) => parts.push(part));
    incoming.on("end", () => {
      const body = Buffer.concat(parts);
      const { method, url, headers } = incoming;
      const { host, ...kept } = headers;
      line.seen.push({ method, url, headers, body: body.toString("hex") });
      const passed = ask(`${shuffler.address}${url}`, { method, headers: kept }, (answer) => {
        if (method === "POST" && line.lost > 0) {
          // It was carried out, and the answer is lost.
          line.lost -= 1;
          answer.resume();
          return incoming.socket.destroy();
        }
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      passed.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  running.push(() => {
    server.closeAllConnections();
    server.close();
  });
  line.address = `http://127.0.0.1:${server.address().port}`;
  line.posts = () => line.seen.filter(({ method }) => method === "POST");
  const counted = async () => {
    const model = await fetch(`${service.address}/v1/loops/mixed/model`, { headers: { authorization: `Bearer ${service.key}` } });
    return (await model.json()).reports;
  };
  return { service, line, counted };
}

/** Checks that the line saw these reports, as the same bytes each time, and nothing that names the sender. */
function check(line, made) {
  assert.deepEqual(new Set(line.posts().map(({ body }) => body)), new Set(made));
  for (const { headers } of line.seen) {
    assert.deepEqual([headers.authorization, headers.cookie, headers.referer], [undefined, undefined, undefined]);
  }
}

for (const mode of Object.keys(VISITS)) {
  test(`Node, ${mode}: reports arrive once, and the same bytes are sent again after an answer was lost`, { skip: skipped, timeout: 120_000 }, async () => {
    const { service, line, counted } = await world(mode, `node-${mode}`);
    const client = new Client(service.address, "mixed", { key: service.key, timeout: 10_000, retries: 0 });
    const made = [];
    for (let installation = 0; made.length < BATCH; installation += 1) {
      const storage = fileStorage(join(folder, `node-${mode}`, String(installation)));
      const device = await client.device({ shuffler: line.address, limits: LIMITS, storage });
      for (let visit = 0; visit < VISITS[mode]; visit += 1) {
        line.lost = made.length === 0 ? 1 : 0;
        const { bytes } = await device.report(1, device.choose({}, actions).choice);
        made.push(Buffer.from(bytes).toString("hex"));
        // After a lost answer, and where the shuffler has not heard of the model yet, by a device that is opened again.
        const again = await client.device({ shuffler: line.address, limits: LIMITS, storage });
        await until(async () => (await again.flush()).waiting === 0);
      }
      await assert.rejects(device.report(1, device.choose({}, actions).choice), /reports left: got 0/);
    }
    assert.equal(new Set(made).size, BATCH);
    assert.equal(new Set(made.map((bytes) => bytes.length)).size, 1, "all reports have one length");
    assert.ok(line.posts().filter(({ body }) => body === made[0]).length >= 2, "the first was sent again");
    await until(async () => (await counted()) === BATCH);
    check(line, made);
  });

  test(`Chromium, ${mode}: two tabs share one count, and what they report arrives once`, { skip: none ?? false, timeout: 120_000 }, async () => {
    const { service, line, counted } = await world(mode, `page-${mode}`);
    const site = await serve({ "/": ["text/html", "<!doctype html><title>test</title>"] });
    running.push(site.close);
    const visits = (page) =>
      page.evaluate(async ({ service, key, shuffler, limits, actions }) => {
        const { Client } = await import("/js/client.js");
        const client = new Client(service, "mixed", { key, timeout: 10_000, retries: 0 });
        const device = await client.device({ shuffler, limits });
        const made = [];
        let refused;
        while (refused === undefined) {
          try {
            const { bytes } = await device.report(1, device.choose({}, actions).choice);
            made.push(Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""));
          } catch (error) {
            refused = error.message;
          }
        }
        for (let tries = 0; (await device.flush()).waiting > 0 && tries < 200; tries += 1) await new Promise((resolve) => setTimeout(resolve, 100));
        return { made, refused, status: await device.person.status() };
      }, { service: service.address, key: service.key, shuffler: line.address, limits: LIMITS, actions });
    const made = [];
    while (made.length < BATCH) {
      const context = await browser.newContext();
      const tabs = await Promise.all([context.newPage(), context.newPage()]);
      await Promise.all(tabs.map((page) => page.goto(site.address)));
      line.lost = made.length === 0 ? 1 : 0;
      const results = await Promise.all(tabs.map(visits));
      const both = results.flatMap((result) => result.made);
      assert.equal(both.length, VISITS[mode], "two tabs, one count");
      for (const { refused, status } of results) {
        assert.match(refused, /reports left: got 0/);
        assert.deepEqual([status.left, status.waiting], [0, 0]);
      }
      made.push(...both);
      await context.close();
    }
    assert.equal(new Set(made).size, BATCH);
    await until(async () => (await counted()) === BATCH);
    check(line, made);
    // One module is downloaded, by each browser.
    const downloaded = site.requests.map(({ url }) => url);
    assert.deepEqual([...new Set(downloaded.filter((path) => path.endsWith(".wasm")))], ["/js/reticent.wasm"]);
  });
}
