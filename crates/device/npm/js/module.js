// The WebAssembly module: compiled once, with one instance that holds the devices of all persons of this page, worker or process.
//
// Randomness comes from `crypto.getRandomValues` and from nowhere else. Without it nothing starts: noise from a weaker source could be subtracted.

import { ReticentError } from "./error.js";

const ADDRESS = new URL("./reticent.wasm", import.meta.url);

let engine;

/** The module and its instance, loaded at the first call; `wasm` is the compiled module or its bytes, where it cannot be fetched. */
export function load(wasm) {
  requireCrypto();
  // One that failed to load is tried again.
  engine ??= compile(wasm).then(
    (module) => new Engine(module),
    (error) => {
      engine = undefined;
      throw error;
    },
  );
  return engine;
}

function requireCrypto() {
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    throw new ReticentError(
      "crypto: missing; noise needs crypto.getRandomValues; run in a browser, a worker or Node 20 or later",
    );
  }
}

/** The module and its present instance. Devices that were opened in an earlier one are gone with it. */
class Engine {
  #module;
  /** The number of the instance. */
  generation = 0;

  constructor(module) {
    this.#module = module;
    this.#start();
  }

  #start() {
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
    this.exports = new WebAssembly.Instance(this.#module, { reticent: { random_bytes } }).exports;
    memory = this.exports.memory;
    this.generation += 1;
  }

  /**
   * Calls an exported function with byte arguments, whose lengths come after `before` and before `after`.
   * Returns its code and its answer; throws its refusal.
   */
  call(name, before, parts, after = []) {
    let code, bytes;
    try {
      const { exports } = this;
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      const start = exports.input(length);
      if (start === 0) throw new ReticentError(`${name}: got ${length} bytes; expected less than 256 MiB`);
      const room = new Uint8Array(exports.memory.buffer, start, length);
      let at = 0;
      for (const part of parts) {
        room.set(part, at);
        at += part.length;
      }
      code = exports[name](...before, ...parts.map((part) => part.length), ...after);
      // Copied: the next call writes over it, and memory may have moved.
      bytes = new Uint8Array(exports.memory.buffer, exports.output(), exports.output_length()).slice();
    } catch (error) {
      if (error instanceof ReticentError) throw error;
      // An instance that was left in the middle of a call cannot be used any more.
      this.#start();
      throw new ReticentError(`${name}: got a failure inside the module, which was started again; nothing was counted: try again`, { cause: error });
    }
    if (code < 0) throw new ReticentError(new TextDecoder().decode(bytes));
    return { code, bytes };
  }

  /** Drops a device of this instance. */
  close(number, generation) {
    if (generation === this.generation) this.exports.close(number);
  }
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
    throw new ReticentError(`${ADDRESS}: got the answer ${response.status}; serve it beside the scripts`);
  }
  // Not every server knows the type that streaming compilation asks for.
  return WebAssembly.compile(await response.arrayBuffer());
}
