// Storage in a folder, shared by processes and by workers.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
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

test("an update that was stopped for long begins again from the newest state", async () => {
  const shared = join(folder, "stopped");
  const storage = fileStorage(shared);
  await storage.update("number", () => ({ text: "1" }));
  const seen = [];
  // In the middle of the first attempt another process makes three states and removes the old ones, the next number among them.
  const value = await storage.update("number", (text) => {
    seen.push(text);
    if (seen.length === 1) execFileSync(process.execPath, [part("add.mjs"), shared, "3"]);
    const next = Number(text) + 1;
    return { text: String(next), value: next };
  });
  assert.deepEqual([seen, value], [["1", "4"], 5]);
  assert.equal(await storage.read("number"), "5");
  assert.equal((await readdir(shared)).length, 1);
});

test("a worker's device and this thread's share one count", async () => {
  const shared = join(folder, "worker");
  const answers = (data) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(part("worker.mjs"), { workerData: data });
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  const results = await Promise.all([1, 2, 3].map(() => answers({ folder: shared, golden, visits: 2 })));
  assert.equal(results.reduce((sum, { made }) => sum + made, 0), 3);
  const device = await Person.fromProtocol(golden.protocol, { loop: "home", storage: fileStorage(shared), now: () => golden.seconds * 1000 });
  assert.equal((await device.status()).left, 0);
  assert.equal((await device.unsent()).length, 3);
});

test("a draft that a killed process has left is no state", async () => {
  const shared = join(folder, "killed");
  const storage = fileStorage(shared);
  await storage.update("key", () => ({ text: "stored" }));
  const [state] = await readdir(shared);
  await writeFile(join(shared, `${state.split(".")[0]}.0-0-0.draft`), "half a sta");
  assert.equal(await storage.read("key"), "stored");
});

test("folders that are made have their names on the disk before a state is", async () => {
  // What is opened to be synced: in a process of its own, whose functions are replaced.
  const program = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { open } = fs.promises;
    fs.promises.open = async (path, ...given) => {
      const file = await open(path, ...given);
      const { sync } = file;
      file.sync = () => (console.log(String(path)), sync.call(file));
      return file;
    };
    syncBuiltinESMExports();
    const { fileStorage } = await import(process.argv[1]);
    await fileStorage(process.argv[2]).update("key", () => ({ text: "x" }));`;
  const module = new URL("../js/node.js", import.meta.url).href;
  const deep = join(folder, "a", "b");
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program, module, deep]);
  const synced = stdout.trim().split("\n");
  assert.deepEqual(synced.slice(0, 2), [folder, join(folder, "a")]);
  assert.equal(synced.at(-1), deep);
});
