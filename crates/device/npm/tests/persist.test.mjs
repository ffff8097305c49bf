// The browser is asked to keep an installation's count: without a browser, on a database of a few lines.

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import { indexedDbStorage } from "../js/storage.js";

const texts = new Map();
const later = (object, event, result) => {
  queueMicrotask(() => {
    object.result = result;
    object[event]?.();
  });
  return object;
};
const store = (transaction) => ({
  get(key) {
    const request = later({}, "onsuccess", texts.get(key));
    setTimeout(() => transaction.oncomplete?.());
    return request;
  },
  put: (text, key) => texts.set(key, text),
});
const transaction = () => {
  const made = { objectStore: () => store(made), abort: () => queueMicrotask(() => made.onabort?.()) };
  return made;
};
globalThis.indexedDB = { open: () => later({}, "onsuccess", { transaction }) };

const navigator = Object.getOwnPropertyDescriptor(globalThis, "navigator");
after(() => Object.defineProperty(globalThis, "navigator", navigator ?? { value: undefined, configurable: true }));

/** A browser whose storage answers so, and how often it was asked. */
function browser(storage) {
  Object.defineProperty(globalThis, "navigator", { value: { storage }, configurable: true });
}
let asked;
const asking = (kept, answer) => ({
  persisted: async () => kept,
  persist: async () => {
    asked += 1;
    return answer();
  },
});
const count = async (storage) => {
  for (const text of ["1", "2", "3"]) await storage.update("count", () => ({ text, value: text }));
  await new Promise((resolve) => setTimeout(resolve));
  return storage.read("count");
};
beforeEach(() => {
  asked = 0;
  texts.clear();
});

test("the browser is asked once, with the first count", async () => {
  browser(asking(false, () => true));
  const storage = indexedDbStorage();
  await storage.read("count");
  assert.equal(asked, 0, "nothing is counted yet");
  assert.equal(await count(storage), "3");
  assert.equal(asked, 1);
});

test("it is not asked where it keeps the count already, or where the caller says so", async () => {
  browser(asking(true, () => true));
  assert.equal(await count(indexedDbStorage()), "3");
  browser(asking(false, () => true));
  assert.equal(await count(indexedDbStorage("reticent", { persist: false })), "3");
  assert.equal(asked, 0);
});

test("a refusal, a failure, a person who does not answer and a browser without the call stop no report", async () => {
  const refuse = () => false;
  const fail = () => {
    throw new Error("not allowed here");
  };
  const wait = () => new Promise(() => {});
  for (const answer of [refuse, fail, wait]) {
    browser(asking(false, answer));
    assert.equal(await count(indexedDbStorage()), "3");
  }
  assert.equal(asked, 3);
  for (const storage of [undefined, {}]) {
    browser(storage);
    assert.equal(await count(indexedDbStorage()), "3");
  }
});
