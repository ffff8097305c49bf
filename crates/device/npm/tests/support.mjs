// What the tests share: the golden visit, and keys that only tests have.

import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";

const vectors = new URL("../../../../vectors/device/", import.meta.url);

export const text = (name) => readFile(new URL(name, vectors), "utf8");
export const bytes = async (name) => new Uint8Array(await readFile(new URL(name, vectors)));

/** The golden visit: protocol, model, inputs, and the report that Rust makes of them. */
export async function visit() {
  const [protocol, model, report] = await Promise.all(["protocol.json", "model.json", "report.json"].map(bytes));
  return { protocol, model, report, ...JSON.parse(await text("case.json")) };
}

/** The golden visit of a loop with a shuffler, which permutes (`sealed`) or sums (`sum`): messages, inputs, and the sealed report that Rust makes of them. */
export async function sealedVisit(mode) {
  const file = async (name) => new Uint8Array(await readFile(new URL(`../sealed/${mode}/${name}`, vectors)));
  const names = ["plan.json", "sealing.json", "shuffler.json", "model.json", "report.bin", "case.json"];
  const [plan, sealing, shuffler, model, report, inputs] = await Promise.all(names.map(file));
  return { plan, sealing, shuffler, model, report, ...JSON.parse(new TextDecoder().decode(inputs)) };
}

let folder;

/** A copy of the package, its module.js changed by `change`. */
export async function changedPackage(name, change, file = "index.js") {
  if (folder === undefined) {
    folder = await mkdtemp(join(tmpdir(), "reticent-web-"));
    after(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
  }
  const copy = join(folder, name);
  await cp(new URL("../js/", import.meta.url), copy, { recursive: true });
  const path = join(copy, "module.js");
  const before = await readFile(path, "utf8");
  const changed = change(before);
  assert.ok(name === "real" || changed !== before, "the change is there");
  await writeFile(path, changed);
  return import(pathToFileURL(join(copy, file)));
}

/** Calls `act` while `crypto.getRandomValues` gives the keys of the golden visit, one after the other. */
export async function withKeys(act) {
  const real = globalThis.crypto;
  let number = 0;
  const getRandomValues = (view) => {
    view.forEach((_, place) => (view[place] = (31 * number + 7 * place + 1) % 256));
    number += 1;
    return view;
  };
  Object.defineProperty(globalThis, "crypto", { value: { getRandomValues }, configurable: true, writable: true });
  try {
    return await act();
  } finally {
    Object.defineProperty(globalThis, "crypto", { value: real, configurable: true, writable: true });
  }
}

/** Counts what is asked of `crypto.getRandomValues` and of `Math.random` while `act` runs. */
export async function watched(act) {
  const counts = { secure: 0, weak: 0 };
  const real = { random: Math.random, fill: crypto.getRandomValues };
  Math.random = () => {
    counts.weak += 1;
    return 0.5;
  };
  crypto.getRandomValues = (view) => {
    counts.secure += view.byteLength;
    return real.fill.call(crypto, view);
  };
  try {
    counts.value = await act();
  } finally {
    Math.random = real.random;
    delete crypto.getRandomValues;
  }
  return counts;
}
