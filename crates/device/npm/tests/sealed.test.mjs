// A device of a loop with a shuffler in Node: the golden visits, the count, and what a shuffler may answer.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Client } from "../js/client.js";
import { memoryStorage } from "../js/index.js";
import { SealedPerson } from "../js/sealed.js";
import { changedPackage, sealedVisit, watched, withKeys } from "./support.mjs";

const golden = { sealed: await sealedVisit("sealed"), sum: await sealedVisit("sum") };
const MODES = Object.keys(golden);
const KEY = '["","mixed"]';
const DAY = 86_400_000;

async function person(mode, options = {}, made = SealedPerson) {
  const { plan, sealing, shuffler, model, limits, seconds } = golden[mode];
  const given = { loop: "mixed", limits, storage: memoryStorage(), now: () => seconds * 1000, ...options };
  const device = await made.fromSealing(plan, sealing, shuffler, given);
  device.setModel(model);
  return device;
}

async function visitOnce(device, mode) {
  device.choose(golden[mode].context, golden[mode].actions);
  return device.report(1);
}

const most = { sealed: 1, sum: 3 };

for (const mode of MODES) {
  test(`${mode}: the golden visit gives the sealed bytes that Rust gives and opens`, async () => {
    const storage = memoryStorage();
    const { context, actions, reward, index, report, left, values } = golden[mode];
    const made = await withKeys(async () => {
      const device = await person(mode, { storage });
      const choice = device.choose(context, actions);
      return { index: choice.index, report: await device.report(reward) };
    });
    assert.equal(made.index, index);
    assert.deepEqual(made.report, report);
    assert.equal(report.length, 89 + 48 + 8 * values.length);
    assert.equal((await (await person(mode, { storage })).status()).left, left);
    // With the system's keys the bytes are others, all but the form.
    const other = await visitOnce(await person(mode), mode);
    assert.deepEqual([other.length, other.slice(0, 73)], [report.length, report.slice(0, 73)], "version, protocol, model and key");
    assert.notDeepEqual(other.slice(73), report.slice(73));
  });

  test(`${mode}: devices on one storage share one count, and what they made is kept as the same bytes`, async () => {
    const storage = memoryStorage();
    const devices = await Promise.all([1, 2, 3, 4, 5].map(() => person(mode, { storage })));
    assert.equal(devices[0].reportsPerPeriod, most[mode]);
    const results = await Promise.allSettled(devices.map((device) => visitOnce(device, mode)));
    const made = results.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
    assert.equal(made.length, most[mode]);
    for (const { reason } of results.filter(({ status }) => status === "rejected")) assert.match(reason.message, /reports left: got 0/);
    assert.deepEqual(await devices[0].unsent(), made);
    assert.deepEqual(await (await person(mode, { storage })).unsent(), made, "another page finds them");
    const stored = await storage.read(KEY);
    await assert.rejects(visitOnce(devices[0], mode), /reports left: got 0/);
    assert.equal(await storage.read(KEY), stored, "a refusal stores nothing");
    await devices[1].settled(made[0]);
    const { left, ends, waiting } = await devices[0].status();
    assert.deepEqual([left, ends, waiting], [0, undefined, most[mode] - 1]);
  });

  test(`${mode}: what the server says is priced by the device itself, and the shuffler must shuffle the same`, async () => {
    const { plan, sealing, shuffler, limits } = golden[mode];
    const said = JSON.parse(new TextDecoder().decode(sealing));
    const refused = (change, options) =>
      SealedPerson.fromSealing(plan, JSON.stringify({ ...said, ...change }), shuffler, { loop: "mixed", limits, storage: memoryStorage(), ...options });
    for (const [change, options, words] of [
      [{}, { loop: undefined }, /loop: missing/],
      [{}, { loop: "shop" }, /protocol: got "[0-9a-f]{64}"; the published protocol has [0-9a-f]{64}/],
      [{}, { level: 0 }, /level: got a value; .*leave it out/],
      [{}, { limits: { ...limits, epsilon: 3.9 } }, /epsilon: got .*; expected at most 3.9/],
      [{}, { limits: { ...limits, reports: 0 } }, /visits: got \d; expected at most 0/],
      [{ batch: 2 }, {}, /epsilon: got \d.*; expected at most \d/],
      [{ honest: 1 }, {}, /epsilon: got \d.*; expected at most \d/],
      [{ batch: 8 }, {}, /protocol: got "[0-9a-f]{64}"; the published protocol has [0-9a-f]{64}/],
      [{ generation: "1" }, {}, /protocol: got "[0-9a-f]{64}"; the published protocol has [0-9a-f]{64}/],
      [{ mode: "open" }, {}, /mode: got nothing or another form/],
      [{ features: {} }, {}, /context: got nothing or another form; update the older program/],
    ]) {
      await assert.rejects(refused(change, options), words);
    }
    await assert.rejects(SealedPerson.fromSealing("{}", sealing, shuffler, { loop: "mixed", limits, storage: memoryStorage() }), /report_plan: got a message without "kind"/);
  });
}

for (const mode of MODES) {
  test(`${mode}: a shuffler that knows another protocol or key than the server tells is refused before a report is counted`, async () => {
    const { plan, sealing, shuffler, limits } = golden[mode];
    const said = JSON.parse(new TextDecoder().decode(shuffler));
    const join = (answer) => SealedPerson.fromSealing(plan, sealing, answer, { loop: "mixed", limits, storage: memoryStorage() });
    assert.equal((await join(shuffler)).protocol, said.protocol);
    await assert.rejects(join(JSON.stringify({ ...said, protocol: "00".repeat(32) })), /protocol: got "0000/);
    await assert.rejects(join("{}"), /public_key: got nothing or another form/);
    const other = join(JSON.stringify({ ...said, public_key: `09${"00".repeat(31)}` }));
    // A shuffler that sums names its own key, and the server none.
    await (mode === "sum" ? other : assert.rejects(other, /public_key: got "[0-9a-f]{64}"; the shuffler knows 0900/));
  });
}

test("randomness comes from crypto.getRandomValues alone, and a report is sealed under a key of its own", async () => {
  const { secure, weak, value } = await watched(async () => {
    const device = await person("sum");
    return [await visitOnce(device, "sum"), await visitOnce(device, "sum")];
  });
  // Two generators; and two keys for the noise and one for the sealing of every report.
  assert.deepEqual([weak, secure], [0, (2 + 2 * 3) * 32]);
  const parts = ([start, end]) => new Set(value.map((bytes) => String(bytes.slice(start, end)))).size;
  assert.deepEqual([[73, 89], [89, 121], [121, 153]].map(parts), [2, 2, 2], "salt, key and ciphertext");
});

test("a module that failed in the middle of a call is started again, with its devices", async () => {
  const planted = await changedPackage("sealed-trap", (source) =>
    source.replace("crypto.getRandomValues(new Uint8Array(memory.buffer, start, length));\n        return 0;\n      } catch {", `$&
        if (globalThis.plantedTrap) throw new Error("planted");`), "sealed.js");
  const storage = memoryStorage();
  const device = await person("sum", { storage }, planted.SealedPerson);
  const real = globalThis.crypto;
  globalThis.plantedTrap = true;
  Object.defineProperty(globalThis, "crypto", { value: { getRandomValues() { throw new Error("none"); } }, configurable: true, writable: true });
  try {
    await assert.rejects(visitOnce(device, "sum"), /report: got a failure inside the module/);
  } finally {
    delete globalThis.plantedTrap;
    Object.defineProperty(globalThis, "crypto", { value: real, configurable: true, writable: true });
  }
  assert.equal(await storage.read(KEY), undefined, "nothing was counted");
  await visitOnce(device, "sum");
  assert.equal((await device.status()).left, 2);
});

const servers = [];
after(() => servers.forEach((server) => server.close()));

/** A process that answers by `answer(call)`: [status, body]; with a broken connection, if that is null. */
async function listen(answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const call = { method: request.method, path: request.url, headers: request.headers, body: new Uint8Array(Buffer.concat(parts)) };
    requests.push(call);
    const answered = answer(call, requests.length);
    if (answered === null) return request.socket.destroy();
    const [status, body = "{}"] = answered;
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  return { address: `http://127.0.0.1:${server.address().port}`, requests, posts: () => requests.filter(({ method }) => method === "POST") };
}

/** The server and the shuffler of the golden loop; `answer` says what the shuffler answers to a report. */
async function world(mode, answer) {
  const { plan, sealing, shuffler, model } = golden[mode];
  const served = { "/protocol": plan, "/sealing": sealing, "/model": model };
  const server = await listen(({ path }) => [200, served[path.slice("/v1/loops/mixed".length)]]);
  const mixer = await listen((call, count) => (call.path.endsWith("/sealing") ? [200, shuffler] : answer(call, count)));
  const client = new Client(server.address, "mixed", { key: "rt_d", timeout: 400, retries: 0 });
  const device = (storage = memoryStorage(), now = golden[mode].seconds * 1000) =>
    client.device({ shuffler: `${mixer.address}/`, storage, limits: golden[mode].limits, now: () => now });
  return { server, mixer, device };
}

const taken = () => [200, '{"outcome":"taken"}'];
const report = (device, mode) => device.report(1, device.choose(golden[mode].context, golden[mode].actions).choice);

for (const mode of MODES) {
  test(`${mode}: a device sends its sealed bytes to the shuffler, and nothing else to anybody`, async () => {
    const { server, mixer, device } = await world(mode, taken);
    const made = await device();
    const { bytes, outcome, reason } = await report(made, mode);
    assert.deepEqual([outcome, reason], ["taken", undefined]);
    const asked = ({ requests }) => requests.map(({ method, path }) => `${method} ${path.slice("/v1/loops/mixed".length)}`);
    assert.deepEqual(asked(server).sort(), ["GET /model", "GET /protocol", "GET /sealing"]);
    assert.deepEqual(asked(mixer), ["GET /sealing", "POST /reports"]);
    const [{ body, headers }] = mixer.posts();
    assert.deepEqual([body, headers["content-type"]], [bytes, "application/octet-stream"]);
    for (const { headers } of mixer.requests) assert.deepEqual([headers.authorization, headers.cookie, headers["reticent-head"]], [undefined, undefined, undefined]);
    assert.ok(server.requests.every(({ headers }) => headers.authorization === "Bearer rt_d"));
    assert.deepEqual(await made.person.unsent(), []);
  });
}

test("the server's own address is no shuffler, and what waits is sent also when no report is left to make", async () => {
  const { server } = await world("sealed", taken);
  const client = new Client(server.address, "mixed", { key: "rt_d" });
  for (const shuffler of [server.address, `${server.address}/`]) {
    await assert.rejects(client.device({ shuffler, storage: memoryStorage(), limits: golden.sealed.limits }), /shuffler: got .* the address of the server/);
  }
  assert.equal(server.requests.length, 0);
  await assert.rejects(client.device({ storage: memoryStorage(), limits: golden.sealed.limits }), /shuffler: missing/);
  await assert.rejects(client.device({ shuffler: "mix.example", storage: memoryStorage() }), /address: got "mix.example"; expected https/);
  let away = true;
  const { mixer, device } = await world("sealed", () => (away ? [503] : taken()));
  const made = await device();
  const { bytes, outcome } = await report(made, "sealed");
  assert.equal(outcome, "waiting");
  away = false;
  await assert.rejects(report(made, "sealed"), /reports left: got 0/);
  assert.deepEqual([await made.person.unsent(), mixer.posts().at(-1).body], [[], bytes]);
});

test("what the shuffler refuses for good is dropped, and everything else waits as the same bytes", async () => {
  for (const [answer, expected] of [
    [() => [410], "refused"],
    [() => [422], "refused"],
    [() => [429], "waiting"],
    [() => [503], "waiting"],
    [() => [500], "waiting"],
    [() => [404], "waiting"],
    [() => [413], "waiting"],
    [() => null, "waiting"],
  ]) {
    let away = true;
    const { mixer, device } = await world("sum", (call) => (away ? answer(call) : taken()));
    const storage = memoryStorage();
    const made = await device(storage);
    const { bytes, outcome, reason } = await report(made, "sum");
    assert.deepEqual([outcome, reason === undefined], [expected, expected === "refused"]);
    assert.equal((await made.person.status()).left, 2, "it stays counted");
    away = false;
    // The page is closed and opened again.
    const flushed = await (await device(storage)).flush();
    assert.deepEqual(flushed, { taken: expected === "waiting" ? 1 : 0, refused: 0, waiting: 0, dropped: 0 });
    for (const { body } of mixer.posts()) assert.deepEqual(body, bytes);
  }
});

test("a report that the shuffler cannot take yet keeps no other waiting, and a sender at its cap waits", async () => {
  const held = new Set();
  const { mixer, device } = await world("sum", ({ body }) => (held.has(String(body)) ? [503] : taken()));
  const made = await device();
  const keep = made.person.report;
  made.person.report = async (...given) => {
    const bytes = await keep.apply(made.person, given);
    if (held.size === 0) held.add(String(bytes));
    return bytes;
  };
  assert.equal((await report(made, "sum")).outcome, "waiting");
  const second = await report(made, "sum");
  assert.deepEqual([second.outcome, second.reason.status], ["taken", 503]);
  assert.deepEqual((await made.person.unsent()).map(String), [...held]);
  held.clear();
  assert.equal((await made.flush()).taken, 1);
  // At the cap the others would be answered alike: they are not sent.
  const capped = await world("sum", () => [429]);
  const other = await capped.device();
  for (let i = 0; i < 3; i += 1) await report(other, "sum");
  const before = capped.mixer.posts().length;
  const { waiting, reason } = await other.flush();
  assert.deepEqual([waiting, reason.status, capped.mixer.posts().length - before], [3, 429, 1]);
  assert.equal(new Set(mixer.posts().map(({ body }) => String(body))).size, 2);
});

test("sealed reports wait for 7 days, and what was made for the server alone never goes to the shuffler", async () => {
  const storage = memoryStorage();
  const text = JSON.stringify({ version: 1, ledger: "", unsent: [{ report: "{}", since: golden.sum.seconds }], dropped: 0 });
  const { mixer, server, device } = await world("sum", () => [503]);
  const made = await device(storage);
  const key = JSON.stringify([new URL(server.address).origin, "mixed"]);
  await storage.update(key, () => ({ text }));
  assert.deepEqual([(await made.person.unsent()).length, (await made.person.status()).waiting], [0, 0]);
  const { bytes } = await report(made, "sum");
  for (const { body } of mixer.posts()) assert.deepEqual(body, bytes);
  const later = await device(storage, golden.sum.seconds * 1000 + 7 * DAY);
  assert.deepEqual(await later.flush(), { taken: 0, refused: 0, waiting: 0, dropped: 2 });
  assert.equal((await later.person.status()).left, 2);
});
