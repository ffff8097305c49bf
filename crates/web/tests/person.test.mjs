// A person's half in Node: the golden visit, the count, the storage.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Choice, memoryStorage, Person, ReticentError } from "../js/index.js";
import { text, visit, withKeys } from "./support.mjs";

const golden = await visit();
const DAY = 86_400_000;

async function person(options = {}) {
  const storage = options.storage ?? memoryStorage();
  const made = await Person.fromProtocol(golden.protocol, { storage, now: () => golden.seconds * 1000, ...options });
  made.setModel(golden.model);
  return made;
}

async function visitOnce(half) {
  half.choose(golden.context, golden.actions);
  return half.report(1);
}

test("the golden visit gives the bytes that Rust gives", async () => {
  // The module may be loaded already: keys are asked for when a half is made and before and after a report.
  const storage = memoryStorage();
  const { index, report } = await withKeys(async () => {
    const half = await person({ storage, level: golden.level });
    const choice = half.choose(golden.context, golden.actions);
    return { index: choice.index, report: await half.report(golden.reward) };
  });
  assert.equal(index, golden.index);
  assert.equal(new TextDecoder().decode(report), new TextDecoder().decode(golden.report));
  assert.equal((await (await person({ storage })).status()).left, golden.left);
});

test("the same visit with the system's keys gives other bytes every time", async () => {
  const half = await person({ level: golden.level });
  const reports = new Set();
  for (let i = 0; i < 3; i += 1) reports.add(new TextDecoder().decode(await visitOnce(half)));
  assert.equal(reports.size, 3);
  assert.ok(!reports.has(await text("report.json")));
});

test("beyond k reports nothing leaves, and a new period begins when the old one ends", async () => {
  let now = golden.seconds * 1000;
  const storage = memoryStorage();
  const half = await person({ storage, now: () => now });
  assert.equal(half.reportsPerPeriod, 3);
  for (let left = 2; left >= 0; left -= 1) {
    await visitOnce(half);
    assert.equal((await half.status()).left, left);
  }
  const stored = await storage.read('["","home"]');
  await assert.rejects(visitOnce(half), /^ReticentError: reports left is 0: at most 3/);
  // Another half on the same storage, and a clock that is set back.
  await assert.rejects(visitOnce(await person({ storage, level: 2 })), /reports left is 0/);
  now -= 90 * DAY;
  await assert.rejects(visitOnce(half), /reports left is 0/);
  assert.equal(await storage.read('["","home"]'), stored, "a refusal stores nothing");
  now = (await half.status()).ends.getTime();
  await visitOnce(half);
  assert.equal((await half.status()).left, 2);
});

test("two halves that report at once share one count", async () => {
  const storage = memoryStorage();
  const halves = await Promise.all([0, 1, 2, 0, 1, 2].map((level) => person({ storage, level })));
  const results = await Promise.allSettled(halves.map(visitOnce));
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 3);
  assert.equal((await halves[0].unsent()).length, 3);
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
  const half = await person({ storage });
  const report = await visitOnce(half);
  assert.deepEqual(log, [1]);
  // Another page finds the same bytes.
  const [kept] = await (await person({ storage })).unsent();
  assert.deepEqual(kept, report);
  await half.settled(report);
  assert.deepEqual(await half.unsent(), []);
  assert.equal((await half.status()).left, 2, "it stays counted");
  // Storage that cannot store: nothing leaves, and the choice is not lost.
  const broken = { read: inner.read, update: () => Promise.reject(new Error("disk full")) };
  const other = await person({ storage: broken });
  other.choose(golden.context, golden.actions);
  await assert.rejects(other.report(1), /disk full/);
  await assert.rejects(other.report(1), /disk full/);
});

test("a choice is reported once, also on another page", async () => {
  const half = await person();
  await assert.rejects(half.report(1), /choice is missing/);
  const choice = half.choose(golden.context, golden.actions);
  await assert.rejects(half.report(Number.NaN), /reward is not a number/);
  await half.report(1);
  await assert.rejects(half.report(1), /choice is missing/);
  const there = await person();
  await there.report(1, Choice.parse(String(choice)));
  assert.throws(() => Choice.parse("nonsense"), ReticentError);
  const damaged = String(choice).replace(/(.)(.{10})$/, (_, letter, rest) => (letter === "A" ? "B" : "A") + rest);
  await assert.rejects(there.report(1, Choice.parse(damaged)), /saved state/);
});

test("levels are chosen by the person, the strictest first", async () => {
  const half = await person();
  assert.deepEqual([half.levels, half.level], [[1, 4, 8], 0]);
  const level = async () => JSON.parse(new TextDecoder().decode(await visitOnce(half))).level;
  assert.equal(await level(), 0);
  half.setLevel(2);
  assert.equal(await level(), 2);
  for (const bad of [3, -1, 1.5, "1"]) assert.throws(() => half.setLevel(bad), /level is/);
  assert.equal(half.level, 2);
});

test("foreign, damaged and missing messages are refused by name", async () => {
  const storage = memoryStorage();
  const refused = (protocol) => Person.fromProtocol(protocol, { storage });
  await assert.rejects(refused("{}"), /protocol is a message without "kind"/);
  const changed = new TextDecoder().decode(golden.protocol).replace('"home"', '"shop"');
  await assert.rejects(refused(changed), /hash is/);
  await assert.rejects(Person.fromProtocol(golden.protocol), /indexedDB is missing/);
  const half = await Person.fromProtocol(golden.protocol, { storage });
  assert.throws(() => half.choose(golden.context, golden.actions), /model is missing/);
  assert.throws(() => half.setModel(golden.protocol), /kind is "protocol"/);
  const foreign = new TextDecoder().decode(golden.model).replace(/"protocol":"(.)/, (_, digit) => `"protocol":"${digit === "0" ? 1 : 0}`);
  assert.throws(() => half.setModel(foreign), /other parameters/);
  half.setModel(golden.model);
  assert.throws(() => half.choose(golden.context, []), /actions is \[\]/);
  await storage.update('["","home"]', () => ({ text: "{}" }));
  half.choose(golden.context, golden.actions);
  await assert.rejects(half.report(1), /the stored count is not readable/);
  half.close();
  half.close();
  assert.throws(() => half.choose(golden.context, golden.actions), /person is closed/);
});

test("halves that are closed give their place back", async () => {
  const storage = memoryStorage();
  for (let i = 0; i < 2000; i += 1) {
    const half = await person({ storage, scope: String(i) });
    await visitOnce(half);
    half.close();
  }
});
