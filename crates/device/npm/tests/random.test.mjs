// Noise comes from crypto.getRandomValues: a build that takes it from Math.random is caught, and without crypto nothing starts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { changedPackage as build, visit, watched } from "./support.mjs";

const golden = await visit();
/** Faults in the source of randomness of a build. */
async function complaints({ Person, memoryStorage }) {
  const wrong = [];
  const { secure, weak, value } = await watched(async () => {
    const device = await Person.fromProtocol(golden.protocol, { loop: "home", storage: memoryStorage() });
    device.setModel(golden.model);
    const reports = [];
    for (let i = 0; i < 3; i += 1) {
      device.choose(golden.context, golden.actions);
      reports.push(JSON.parse(new TextDecoder().decode(await device.report(1))).values.join());
    }
    return reports;
  });
  if (weak > 0) wrong.push(`Math.random was asked ${weak} times`);
  // A key of 32 bytes before and one after every report.
  if (secure < 3 * 64) wrong.push(`crypto.getRandomValues was asked for ${secure} bytes`);
  if (new Set(value).size < 3) wrong.push("noise came twice");
  return wrong;
}

const SOURCE = "crypto.getRandomValues(new Uint8Array(memory.buffer, start, length));";

test("the package asks crypto.getRandomValues, and never Math.random", async () => {
  assert.deepEqual(await complaints(await build("real", (source) => source)), []);
});

test("planted: a build with Math.random, one with a fixed key, one that asks once", async () => {
  const planted = (name, random) => build(name, (source) => source.replace(SOURCE, random));
  const view = "const view = new Uint8Array(memory.buffer, start, length);";
  const weak = await planted("weak", `${view} view.forEach((_, i) => (view[i] = Math.random() * 256));`);
  assert.match((await complaints(weak)).join("; "), /Math.random was asked .*getRandomValues was asked for 0 bytes.*noise came twice/);
  const fixed = await planted("fixed", `${view} view.fill(7);`);
  assert.match((await complaints(fixed)).join("; "), /asked for 0 bytes.*noise came twice/);
  const once = await planted("once", `${view} globalThis.planted ??= crypto.getRandomValues(new Uint8Array(32)); view.set(globalThis.planted.subarray(0, length));`);
  assert.match((await complaints(once)).join("; "), /asked for 32 bytes.*noise came twice/);
});

test("without crypto nothing starts, and when it fails nothing leaves", async () => {
  const { Person, memoryStorage } = await build("real2", (source) => `${source}\n`);
  const real = globalThis.crypto;
  const replace = (value) => Object.defineProperty(globalThis, "crypto", { value, configurable: true, writable: true });
  try {
    for (const missing of [undefined, {}]) {
      replace(missing);
      await assert.rejects(Person.fromProtocol(golden.protocol, { loop: "home", storage: memoryStorage() }), /crypto: missing/);
    }
    replace(real);
    const storage = memoryStorage();
    const device = await Person.fromProtocol(golden.protocol, { loop: "home", storage });
    device.setModel(golden.model);
    device.choose(golden.context, golden.actions);
    replace({ getRandomValues: () => { throw new Error("no entropy"); } });
    await assert.rejects(device.report(1), /^ReticentError: entropy of the operating system: missing; .*repair/);
    assert.equal(await storage.read('["","home"]'), undefined, "nothing was counted");
    replace(real);
    await device.report(1);
  } finally {
    replace(real);
  }
});
