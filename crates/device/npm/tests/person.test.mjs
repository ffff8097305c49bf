// A device in Node: the golden visit, the count, the storage.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Choice, memoryStorage, Person, ReticentError } from "../js/index.js";
import { changedPackage, text, visit, withKeys } from "./support.mjs";

const golden = await visit();
const DAY = 86_400_000;

async function person(options = {}) {
  const storage = options.storage ?? memoryStorage();
  const made = await Person.fromProtocol(golden.protocol, { loop: "home", storage, now: () => golden.seconds * 1000, ...options });
  made.setModel(golden.model);
  return made;
}

async function visitOnce(device) {
  device.choose(golden.context, golden.actions);
  return device.report(1);
}

test("the golden visit gives the bytes that Rust gives", async () => {
  // The module may be loaded already: keys are asked for when a device is made and before and after a report.
  const storage = memoryStorage();
  const { index, report } = await withKeys(async () => {
    const device = await person({ storage, level: golden.level });
    const choice = device.choose(golden.context, golden.actions);
    return { index: choice.index, report: await device.report(golden.reward) };
  });
  assert.equal(index, golden.index);
  assert.equal(new TextDecoder().decode(report), new TextDecoder().decode(golden.report));
  assert.equal((await (await person({ storage })).status()).left, golden.left);
});

test("the same visit with the system's keys gives other bytes every time", async () => {
  const device = await person({ level: golden.level });
  const reports = new Set();
  for (let i = 0; i < 3; i += 1) reports.add(new TextDecoder().decode(await visitOnce(device)));
  assert.equal(reports.size, 3);
  assert.ok(!reports.has(await text("report.json")));
});

test("beyond k reports nothing leaves, and a new period begins when the old one ends", async () => {
  let now = golden.seconds * 1000;
  const storage = memoryStorage();
  const device = await person({ storage, now: () => now });
  assert.equal(device.reportsPerPeriod, 3);
  for (let left = 2; left >= 0; left -= 1) {
    await visitOnce(device);
    assert.equal((await device.status()).left, left);
  }
  const stored = await storage.read('["","home"]');
  await assert.rejects(visitOnce(device), /^ReticentError: reports left: got 0; at most 3/);
  // Another device on the same storage, and a clock that is set back.
  await assert.rejects(visitOnce(await person({ storage, level: 2 })), /reports left: got 0/);
  now -= 90 * DAY;
  await assert.rejects(visitOnce(device), /reports left: got 0/);
  assert.equal(await storage.read('["","home"]'), stored, "a refusal stores nothing");
  now = (await device.status()).ends.getTime();
  await visitOnce(device);
  assert.equal((await device.status()).left, 2);
});

test("two devices that report at once share one count", async () => {
  const storage = memoryStorage();
  const devices = await Promise.all([0, 1, 2, 0, 1, 2].map((level) => person({ storage, level })));
  const results = await Promise.allSettled(devices.map(visitOnce));
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 3);
  assert.equal((await devices[0].unsent()).length, 3);
});

test("a report is counted and stored before it is given out, and kept until it is settled", async () => {
  const inner = memoryStorage();
  const log = [];
  const storage = {
    read: (key) => inner.read(key),
    async update(key, change) {
      const value = await inner.update(key, change);
      log.push(JSON.parse(await inner.read(key)).unsent.length);
      return value;
    },
  };
  const device = await person({ storage });
  const report = await visitOnce(device);
  assert.deepEqual(log, [1]);
  // Another page finds the same bytes.
  const [kept] = await (await person({ storage })).unsent();
  assert.deepEqual(kept, report);
  await device.settled(report);
  assert.deepEqual(await device.unsent(), []);
  assert.equal((await device.status()).left, 2, "it stays counted");
  // Storage that cannot store: nothing leaves, and the choice is not lost.
  const broken = { read: inner.read, update: () => Promise.reject(new Error("disk full")) };
  const other = await person({ storage: broken });
  other.choose(golden.context, golden.actions);
  await assert.rejects(other.report(1), /disk full/);
  await assert.rejects(other.report(1), /disk full/);
});

test("a choice is reported once, also on another page", async () => {
  const device = await person();
  await assert.rejects(device.report(1), /choice: missing/);
  const choice = device.choose(golden.context, golden.actions);
  await assert.rejects(device.report(Number.NaN), /reward: got no finite number/);
  await device.report(1);
  await assert.rejects(device.report(1), /choice: missing/);
  const there = await person();
  await there.report(1, Choice.parse(String(choice)));
  assert.throws(() => Choice.parse("nonsense"), ReticentError);
  const damaged = String(choice).replace(/(.)(.{10})$/, (_, letter, rest) => (letter === "A" ? "B" : "A") + rest);
  await assert.rejects(there.report(1, Choice.parse(damaged)), /saved state/);
});

test("levels are chosen by the person, the strictest first", async () => {
  const device = await person();
  assert.deepEqual([device.levels, device.level], [[1, 4, 8], 0]);
  const level = async () => JSON.parse(new TextDecoder().decode(await visitOnce(device))).level;
  assert.equal(await level(), 0);
  device.setLevel(2);
  assert.equal(await level(), 2);
  for (const bad of [3, -1, 1.5, "1", {}, 2 ** 32, 2 ** 32 + 1, Number.NaN]) assert.throws(() => device.setLevel(bad), /level: got .*; expected the index of one of 3 levels/);
  assert.equal(device.level, 2);
});

test("a protocol beyond the person's limits is refused, whatever it calls itself", async () => {
  const refused = (options) => Person.fromProtocol(golden.protocol, { loop: "home", storage: memoryStorage(), ...options });
  for (const [options, words] of [
    [{ loop: undefined }, /loop: missing/],
    [{ loop: "shop" }, /loop: got "home"; it is not the loop that was asked for/],
    [{ limits: { delta: 1e-7 } }, /delta: got 0.000001; expected at most 0.0000001/],
    [{ limits: { reports: 2 } }, /visits: got 3; expected at most 2/],
    [{ limits: { period: 31 * 86_400 } }, /period: got 2592000; expected at least 2678400/],
    [{ limits: { epsilon: 0.5 } }, /epsilon: got 1; expected at most 0.5/],
    [{ limits: { epsilon: 4 }, level: 2 }, /epsilon: got 8; expected at most 4/],
    [{ limits: { epsilon: Number.NaN } }, /limits.epsilon: got NaN/],
    [{ limits: { period: "1" } }, /limits.period: got no number; expected a number, 0 or above/],
    [{ limits: { epsilons: 1 } }, /limits: got epsilons/],
    [{ level: 2 ** 32 }, /level: got 4294967296/],
  ]) {
    await assert.rejects(refused(options), words);
  }
  const device = await refused({ limits: { epsilon: 4 } });
  device.setLevel(1);
  assert.throws(() => device.setLevel(2), /epsilon: got 8; expected at most 4/);
  assert.equal(device.level, 1);
  // The count is kept under the name that was asked for, at the service that was asked.
  const storage = memoryStorage();
  await visitOnce(await person({ storage, scope: "https://one" }));
  assert.equal(JSON.parse(await storage.read('["https://one","home"]')).unsent.length, 1);
  assert.equal((await (await person({ storage, scope: "https://two" })).status()).left, 3);
});

test("no value of a person's record makes a choice fail", async () => {
  const device = await person();
  // Without the index, which is drawn; one action has no other.
  const saved = (context, action = { topic: "news" }) => String(device.choose(context, [action]));
  const plain = saved({});
  const cycle = {};
  cycle.age = cycle;
  cycle.place = { country: cycle };
  const tower = JSON.parse(`${'{"n":'.repeat(5000)}1${"}".repeat(5000)}`);
  const thrower = { get age() { throw new Error("no"); }, toString() { throw new Error("no"); } };
  const wide = { age: Array.from({ length: 1e6 }, () => ({})) };
  const proxy = new Proxy({}, { ownKeys() { throw new Error("no"); } });
  for (const strange of [null, undefined, 7, "text", [], cycle, tower, thrower, wide, proxy, () => 1, Symbol("x"), 1n, new Map([["age", 31]])]) {
    assert.equal(saved(strange), plain);
    assert.equal(saved({ age: strange === 7 || strange === 1n ? null : strange }), plain);
  }
  assert.equal(saved({ age: new Date(Number.NaN), ["\ud800"]: 1, __proto__: null, device: "x".repeat(1 << 22) }), plain);
  assert.equal(saved({}, null), saved({}, { topic: "chess" }));
  // Numbers outside the range are clipped, whatever kind they are.
  for (const high of [80n, 10n ** 30n, Infinity, 1e308, "1e400"]) assert.equal(saved({ age: high }), saved({ age: 80 }));
  for (const low of [-(10n ** 30n), -Infinity]) assert.equal(saved({ age: low }), saved({ age: 18 }));
  assert.equal(saved({ age: 31n }), saved({ age: 31 }));
  assert.equal(saved({ age: Number.NaN }), plain);
  // One of a pair of surrogates is one unknown character; a pair is one that is known.
  const of = (country) => saved({ place: { country } });
  assert.equal(of("a\ud800"), of("a\ufffd"));
  assert.equal(of("\udc00b"), of("\ufffdb"));
  assert.equal(saved({ device: "\ud83d" }), plain);
  assert.notEqual(of("\ud83d\ude00"), plain);
  for (const wrong of [undefined, {}, "x"]) assert.throws(() => device.choose({}, wrong), /actions: got no list/);
});

test("records are read as Rust and Python read them", async () => {
  const device = await person({ level: golden.level });
  const records = JSON.parse(await text("records.json"));
  assert.ok(records.length > 10);
  for (const { context, action, choice } of records) {
    assert.equal(Buffer.from(device.choose(context, [action]).saved).toString("hex"), choice, JSON.stringify({ context, action }));
  }
});

test("reports that wait too long, or are too many, are dropped and stay counted", async () => {
  let now = golden.seconds * 1000;
  const storage = memoryStorage();
  const device = await person({ storage, now: () => now });
  await visitOnce(device);
  now += 3 * DAY;
  assert.equal((await device.status()).left, 2);
  const kept = await visitOnce(device);
  assert.equal((await device.unsent()).length, 2);
  assert.equal((await device.status()).left, 1, "what waits is counted");
  now += 4 * DAY;
  assert.deepEqual(await device.unsent(), [kept]);
  const { waiting, dropped } = await device.status();
  assert.deepEqual([waiting, dropped], [1, 1]);
  await device.settled(kept);
  assert.equal((await device.status()).dropped, 1);
  // Each in a period of its own: the oldest go first.
  for (let i = 0; i < 103; i += 1) {
    const text = JSON.parse(await storage.read('["","home"]'));
    now += 30 * DAY;
    const since = Math.floor(now / 1000);
    await storage.update('["","home"]', () => ({ text: JSON.stringify({ ...text, unsent: text.unsent.map((each) => ({ ...each, since })) }) }));
    await visitOnce(device);
  }
  const status = await device.status();
  assert.deepEqual([status.waiting, status.dropped], [100, 4]);
});

test("a module that failed in the middle of a call is started again, with its devices", async () => {
  const planted = await changedPackage("trap", (source) =>
    source.replace("crypto.getRandomValues(new Uint8Array(memory.buffer, start, length));\n        return 0;\n      } catch {", `$&
        if (globalThis.plantedTrap) throw new Error("planted");`),
  );
  const storage = planted.memoryStorage();
  const options = { loop: "home", storage, level: 1, now: () => golden.seconds * 1000 };
  const device = await planted.Person.fromProtocol(golden.protocol, options);
  const other = await planted.Person.fromProtocol(golden.protocol, options);
  for (const each of [device, other]) each.setModel(golden.model);
  const real = globalThis.crypto;
  globalThis.plantedTrap = true;
  Object.defineProperty(globalThis, "crypto", { value: { getRandomValues() { throw new Error("none"); } }, configurable: true, writable: true });
  try {
    device.choose(golden.context, golden.actions);
    await assert.rejects(device.report(1), /report: got a failure inside the module/);
  } finally {
    delete globalThis.plantedTrap;
    Object.defineProperty(globalThis, "crypto", { value: real, configurable: true, writable: true });
  }
  assert.equal(await storage.read('["","home"]'), undefined, "nothing was counted");
  for (const each of [device, other]) {
    const report = JSON.parse(new TextDecoder().decode(await visitOnce(each)));
    assert.equal(report.level, 1);
  }
  device.close();
  assert.equal((await other.status()).left, 1);
});

test("foreign, damaged and missing messages are refused by name", async () => {
  const storage = memoryStorage();
  const refused = (protocol) => Person.fromProtocol(protocol, { loop: "home", storage });
  await assert.rejects(refused("{}"), /protocol: got a message without "kind"/);
  const changed = new TextDecoder().decode(golden.protocol).replace('"home"', '"shop"');
  await assert.rejects(refused(changed), /hash: got/);
  await assert.rejects(Person.fromProtocol(golden.protocol, { loop: "home" }), /indexedDB: missing/);
  const device = await Person.fromProtocol(golden.protocol, { loop: "home", storage });
  assert.throws(() => device.choose(golden.context, golden.actions), /model: missing/);
  assert.throws(() => device.setModel(golden.protocol), /kind: got "protocol"/);
  assert.throws(() => device.setModel(7), /^TypeError: message: got a value of another type; expected a string/);
  const foreign = new TextDecoder().decode(golden.model).replace(/"protocol":"(.)/, (_, digit) => `"protocol":"${digit === "0" ? 1 : 0}`);
  assert.throws(() => device.setModel(foreign), /other parameters/);
  device.setModel(golden.model);
  assert.throws(() => device.choose(golden.context, []), /actions: got \[\]/);
  await storage.update('["","home"]', () => ({ text: "{}" }));
  device.choose(golden.context, golden.actions);
  await assert.rejects(device.report(1), /stored count: got what cannot be read/);
  device.close();
  device.close();
  assert.throws(() => device.choose(golden.context, golden.actions), /person: got a closed one/);
});

test("devices that are closed give their place back", async () => {
  const storage = memoryStorage();
  for (let i = 0; i < 2000; i += 1) {
    const device = await person({ storage, scope: String(i) });
    await visitOnce(device);
    device.close();
  }
});
