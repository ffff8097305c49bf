// The WebAssembly module: compiled once, with one instance that holds the halves of all persons of this page, worker or process.
//
// Randomness comes from `crypto.getRandomValues` and from nowhere else. Without it nothing starts: noise from a weaker source could be subtracted.

import { ReticentError } from "./error.js";

const ADDRESS = new URL("./reticent.wasm", import.meta.url);

let instance;

/** The module's exports, loaded at the first call. `wasm` is the compiled module or its bytes; by default the file beside this one is fetched. */
export function load(wasm) {
  requireCrypto();
  // One that failed to load is tried again.
  instance ??= instantiate(wasm).catch((error) => {
    instance = undefined;
    throw error;
  });
  return instance;
}

function requireCrypto() {
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    throw new ReticentError(
      "crypto is missing: noise needs crypto.getRandomValues; run in a browser, a worker or Node 20 or later",
    );
  }
}

async function instantiate(wasm) {
  let memory;
  // A key is 32 bytes; getRandomValues fills up to 65536.
  const random_bytes = (start, length) => {
    try {
      crypto.getRandomValues(new Uint8Array(memory.buffer, start, length));
      return 0;
    } catch {
      return 1;
    }
  };
  const module = await compile(wasm);
  const { exports } = await WebAssembly.instantiate(module, { reticent: { random_bytes } });
  memory = exports.memory;
  return exports;
}

async function compile(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm !== undefined) return WebAssembly.compile(wasm);
  if (ADDRESS.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(ADDRESS));
  }
  const response = await fetch(ADDRESS);
  if (!response.ok) {
    throw new ReticentError(`${ADDRESS} is answered with ${response.status}: serve reticent.wasm beside the scripts`);
  }
  // Not every server knows the type that streaming compilation asks for.
  return WebAssembly.compile(await response.arrayBuffer());
}

/**
 * Calls an exported function with byte arguments, whose lengths come after `before` and before `after`.
 * Returns its code and what it has to say; throws what it refuses.
 */
export function call(exports, name, before, parts, after = []) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const start = exports.input(length);
  if (start === 0) throw new ReticentError(`${name} is given ${length} bytes: give less than 16 MiB`);
  const room = new Uint8Array(exports.memory.buffer, start, length);
  let at = 0;
  for (const part of parts) {
    room.set(part, at);
    at += part.length;
  }
  const code = exports[name](...before, ...parts.map((part) => part.length), ...after);
  // Copied: the next call writes over it, and memory may have moved.
  const bytes = new Uint8Array(exports.memory.buffer, exports.output(), exports.output_length()).slice();
  if (code < 0) throw new ReticentError(new TextDecoder().decode(bytes));
  return { code, bytes };
}
