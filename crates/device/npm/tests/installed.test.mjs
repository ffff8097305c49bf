// What works wherever the package is installed: all its entries, by their names, and a report of each kind. `cargo xtask artifacts` runs this file in a folder
// that has only the packed package.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { memoryStorage, Person } from "reticent";
import { Client } from "reticent/client";
import { fileStorage } from "reticent/node";
import { SealedPerson } from "reticent/sealed";

const vectors = process.env.RETICENT_VECTORS ?? fileURLToPath(new URL("../../../../vectors", import.meta.url));
const messages = (folder, names) => Promise.all(names.map((name) => readFile(join(vectors, folder, name))));

test("an installed package makes a report to a server", async () => {
  const [protocol, model, inputs] = await messages("device", ["protocol.json", "model.json", "case.json"]);
  const { context, actions, reward, seconds } = JSON.parse(inputs);
  const folder = await mkdtemp(join(tmpdir(), "reticent-installed-"));
  try {
    const device = await Person.fromProtocol(protocol, { loop: "home", storage: fileStorage(folder), now: () => seconds * 1000 });
    device.setModel(model);
    const choice = device.choose(context, actions);
    assert.ok(choice.index < actions.length);
    const report = JSON.parse(new TextDecoder().decode(await device.report(reward, choice)));
    assert.ok(report !== null && typeof report === "object");
    assert.equal((await device.status()).left, device.reportsPerPeriod - 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("an installed package seals a report for a shuffler", async () => {
  const names = ["plan.json", "sealing.json", "shuffler.json", "model.json", "report.bin", "case.json"];
  const [plan, sealing, shuffler, model, report, inputs] = await messages("sealed/sum", names);
  const { context, actions, reward, limits, seconds } = JSON.parse(inputs);
  const device = await SealedPerson.fromSealing(plan, sealing, shuffler, { loop: "mixed", limits, storage: memoryStorage(), now: () => seconds * 1000 });
  device.setModel(model);
  const sealed = await device.report(reward, device.choose(context, actions));
  assert.deepEqual([sealed.length, sealed.slice(0, 73)], [report.length, new Uint8Array(report.subarray(0, 73))]);
});

test("an installed package has its licences", async () => {
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) assert.match(await readFile(new URL(`../${name}`, import.meta.resolve("reticent")), "utf8"), /Reticent|Apache/);
});

test("the client of an installed package refuses an address in the open", () => {
  assert.throws(() => new Client("http://decide.example.org", "home", { key: "k" }), /http/);
});
