// Where an installation keeps its count and the reports that have not arrived yet.
//
// A storage has two functions. `read(key)` gives the text under a key. `update(key, change)` calls `change(text)` and stores the `text` of its answer as
// one transaction: of two programs that update at once, the second sees what the first has stored. It resolves with the `value` of the answer after
// the text is stored. `change` may be called several times, and its last answer counts; if it throws, nothing is stored.

import { ReticentError } from "./error.js";

const STORE = "installations";

/** Asks the browser not to remove what this origin stores when space is short: the count would go with it, and a new one begin. A browser may refuse, or have no such call. */
async function askToKeep() {
  try {
    const storage = globalThis.navigator?.storage;
    if (storage?.persist && !(await storage.persisted?.())) await storage.persist();
  } catch {
    // Then it is kept as whatever other pages store.
  }
}

/** The browser's database, which all pages and workers of an origin share. With the first count it asks the browser to keep it, unless `persist` is false. */
export function indexedDbStorage(name = "reticent", { persist = true } = {}) {
  if (typeof globalThis.indexedDB === "undefined") {
    throw new ReticentError("indexedDB: missing; give another storage, in Node fileStorage(folder) of reticent/node");
  }
  let opened, asked;
  const database = () => {
    opened ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => {
        // Another version of the page may want to delete or change the database.
        request.result.onversionchange = () => {
          request.result.close();
          opened = undefined;
        };
        // The browser closes it when it removes its files: the next call opens it again.
        request.result.onclose = () => {
          opened = undefined;
        };
        resolve(request.result);
      };
      request.onerror = () => {
        opened = undefined;
        reject(new ReticentError(`indexedDB: got ${request.error?.message}; the browser's database cannot be opened: allow this page to store data`, { cause: request.error }));
      };
    });
    return opened;
  };
  return {
    async read(key) {
      const transaction = (await database()).transaction(STORE, "readonly");
      return new Promise((resolve, reject) => {
        const request = transaction.objectStore(STORE).get(key);
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    },
    async update(key, change) {
      // Transactions that write to a store run one after the other in all tabs; `strict` waits for the disk.
      const transaction = (await database()).transaction(STORE, "readwrite", { durability: "strict" });
      // The person may be asked, and a report does not wait for their answer.
      if (persist) asked ??= askToKeep();
      return new Promise((resolve, reject) => {
        const store = transaction.objectStore(STORE);
        const request = store.get(key);
        let answer, refusal;
        request.onsuccess = () => {
          try {
            answer = change(request.result);
            if (answer.text !== request.result) store.put(answer.text, key);
          } catch (error) {
            refusal = error;
            transaction.abort();
          }
        };
        transaction.oncomplete = () => resolve(answer.value);
        transaction.onabort = () => reject(refusal ?? transaction.error);
      });
    },
  };
}

/** Memory of this page or process, for tests and simulations. It is forgotten with it, and with it how many reports were made. */
export function memoryStorage() {
  const texts = new Map();
  return {
    async read(key) {
      return texts.get(key);
    },
    async update(key, change) {
      const { text, value } = change(texts.get(key));
      texts.set(key, text);
      return value;
    },
  };
}
