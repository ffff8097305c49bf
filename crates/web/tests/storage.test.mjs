// Storage in a folder, shared by processes and by workers.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { fileURLToPath } from "node:url";

import { Person } from "../js/index.js";
import { fileStorage } from "../js/node.js";
import { visit } from "./support.mjs";

const golden = await visit();
const folder = await mkdtemp(join(tmpdir(), "reticent-storage-"));
after(() => rm(folder, { recursive: true }));
const part = (name) => fileURLToPath(new URL(`./parts/${name}`, import.meta.url));

test("a number that many processes add to loses nothing and counts nothing twice", async () => {
  const shared = join(folder, "numbers");
  const run = promisify(execFile);
  const add = () => run(process.execPath, [part("add.mjs"), shared, "25"]);
  const answers = await Promise.all([add(), add(), add(), add()]);
  assert.equal(await fileStorage(shared).read("number"), "100");
  // Every value was given to one of them, and to no other.
  const seen = answers.flatMap(({ stdout }) => stdout.trim().split("\n").map(Number));
  assert.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 100 }, (_, i) => i + 1));
  assert.ok((await readdir(shared)).length < 10, "old states are removed");
});

test("planted: a storage that reads and then writes loses updates", async () => {
  const { text } = await import("./parts/careless.mjs").then(({ race }) => race());
  assert.notEqual(text, "100");
});

test("a process that was stopped for long does not bring an old state back", async () => {
  const storage = fileStorage(join(folder, "stopped"));
  const set = (text) => storage.update("key", () => ({ text }));
  await set("1");
  const others = [];
  // In the middle of the update others store three states, and remove the old ones.
  const value = await storage.update("key", (text) => {
    if (others.length === 0) others.push(...["2", "3", "4"]);
    return { text: `${text}+`, value: text };
  }).then(async (first) => {
    for (const text of others) await set(text);
    return first;
  });
  assert.equal(value, "1");
  assert.equal(await storage.read("key"), "4");
});

test("a worker's half and this thread's share one count", async () => {
  const shared = join(folder, "worker");
  const answers = (data) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(part("worker.mjs"), { workerData: data });
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  const results = await Promise.all([1, 2, 3].map(() => answers({ folder: shared, golden, visits: 2 })));
  assert.equal(results.reduce((sum, { made }) => sum + made, 0), 3);
  const half = await Person.fromProtocol(golden.protocol, { storage: fileStorage(shared), now: () => golden.seconds * 1000 });
  assert.equal((await half.status()).left, 0);
  assert.equal((await half.unsent()).length, 3);
});

test("a draft that a killed process has left is no state", async () => {
  const shared = join(folder, "killed");
  const storage = fileStorage(shared);
  await storage.update("key", () => ({ text: "stored" }));
  const [state] = await readdir(shared);
  await writeFile(join(shared, `${state.split(".")[0]}.0-0-0.draft`), "half a sta");
  assert.equal(await storage.read("key"), "stored");
});
