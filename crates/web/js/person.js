// One person's half: it chooses by the loop's model, counts a report before it leaves, and keeps it until it has arrived.

import { ReticentError } from "./error.js";
import { call, load } from "./module.js";
import { indexedDbStorage } from "./storage.js";
import { fromBase64, toBase64, toBytes, toText } from "./text.js";

/** The version of the state that an installation keeps. */
const VERSION = 1;

const NOBODY = new Uint8Array();

// Halves of persons that are gone are given back.
const abandoned = new FinalizationRegistry(({ exports, half }) => exports.close(half));

/** A choice that waits for its reward. It holds raw features and stays on the device. */
export class Choice {
  #saved;

  constructor(index, saved) {
    this.index = index;
    this.#saved = saved;
  }

  /** As text, for a reward that comes on another page: `Choice.parse` reads it. */
  toString() {
    return `${this.index}.${toBase64(this.#saved)}`;
  }

  static parse(text) {
    const [, index, saved] = /^(\d+)\.([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
    if (saved === undefined) throw new ReticentError("choice is not readable: give the text of a choice");
    return new Choice(Number(index), fromBase64(saved));
  }

  /** The bytes that the module wrote. */
  get saved() {
    return this.#saved;
  }
}

/** One person's half of one loop. */
export class Person {
  #exports;
  #half;
  #protocol;
  #storage;
  #key;
  #level;
  #model;
  #open;
  #now;
  #closed = false;

  /**
   * A person's half from the bytes of the loop's protocol.
   *
   * `level` is the index of the person's level among `levels`; by default the smallest epsilon. `storage` keeps how many reports were made; by default
   * the browser's database. `scope` tells loops of the same name at different services apart. `wasm` is the module or its bytes where they cannot be
   * fetched. `now` gives the time in milliseconds.
   */
  static async fromProtocol(protocol, { storage, level, scope = "", wasm, now = Date.now } = {}) {
    const person = new Person();
    const bytes = toBytes(protocol);
    person.#exports = await load(wasm);
    // The module checks what is read here.
    const { code } = call(person.#exports, "open", [], [bytes], [0]);
    person.#half = code;
    abandoned.register(person, { exports: person.#exports, half: code }, person);
    person.#protocol = JSON.parse(toText(bytes));
    person.#storage = storage ?? indexedDbStorage();
    person.#key = JSON.stringify([scope, person.loop]);
    person.#now = now;
    const { levels } = person;
    person.setLevel(level ?? levels.indexOf(Math.min(...levels)));
    return person;
  }

  /** The loop's name. */
  get loop() {
    return this.#protocol.loop;
  }

  /** The hash of the protocol, which models and reports carry. */
  get protocol() {
    return this.#protocol.hash;
  }

  /** The levels of epsilon that the person chooses from. */
  get levels() {
    const { levels } = this.#protocol.report;
    return levels.public ?? levels.hidden.epsilons;
  }

  /** The index of the person's level. */
  get level() {
    return this.#level;
  }

  /** Reports from now on are made at this level. The choice of a level must not depend on what the reports would say. */
  setLevel(level) {
    if (!Number.isInteger(level) || level < 0) {
      throw new ReticentError(`level is ${level}: give the index of one of ${this.levels.length} levels`);
    }
    call(this.#exports, "set_level", [this.#alive(), level], []);
    this.#level = level;
  }

  /** How many reports at most leave this installation in a period. */
  get reportsPerPeriod() {
    return Number(this.#protocol.report.contributions_per_person);
  }

  /** The number of the model that choices follow, if there is one. */
  get model() {
    return this.#model;
  }

  /** Choices from now on follow this model. */
  setModel(model) {
    const bytes = toBytes(model);
    call(this.#exports, "set_model", [this.#alive()], [bytes]);
    this.#model = Number(JSON.parse(toText(bytes)).sequence);
  }

  /** Which of the actions to take. Records are plain objects; what the loop's rule does not list is not looked at. */
  choose(context, actions) {
    const parts = [context ?? null, actions].map((part) => toBytes(JSON.stringify(part) ?? "null"));
    const { code, bytes } = call(this.#exports, "choose", [this.#alive()], parts);
    this.#open = new Choice(code, bytes);
    return this.#open;
  }

  /**
   * The report of a choice, by default the last one, and its reward: the bytes that may leave. They were counted and stored before they are returned,
   * and stay in `unsent` until they are `settled`. Beyond the period's count it is refused, and nothing is stored.
   */
  async report(reward, choice = this.#open) {
    if (choice === undefined) throw new ReticentError("choice is missing: choose first; a choice is reported once");
    if (!Number.isFinite(reward)) throw new ReticentError("reward is not a number: give a finite number");
    const last = choice === this.#open;
    if (last) this.#open = undefined;
    try {
      return await this.#storage.update(this.#key, (text) => {
        const state = parse(text);
        const parts = [choice.saved, state.ledger];
        const { code, bytes } = call(this.#exports, "report", [this.#alive()], parts, [this.#seconds(), reward]);
        const report = bytes.subarray(code);
        state.unsent.push(toText(report));
        return { text: write({ ...state, ledger: bytes.subarray(0, code) }), value: report };
      });
    } catch (error) {
      if (last) this.#open ??= choice;
      throw error;
    }
  }

  /** Reports that were counted and have not been settled, the oldest first: to be sent again as they are. */
  async unsent() {
    return parse(await this.#storage.read(this.#key)).unsent.map(toBytes);
  }

  /** Forgets reports that have arrived or were refused for good. They stay counted. */
  async settled(reports) {
    const gone = new Set([reports].flat().map(toText));
    await this.#storage.update(this.#key, (text) => {
      const state = parse(text);
      return { text: write({ ...state, unsent: state.unsent.filter((report) => !gone.has(report)) }) };
    });
  }

  /** How many reports this installation may still make, and when the period ends (`undefined`: never). */
  async status() {
    const { ledger } = parse(await this.#storage.read(this.#key));
    const { bytes } = call(this.#exports, "status", [this.#alive()], [ledger], [this.#seconds()]);
    const view = new DataView(bytes.buffer);
    const end = new Date(view.getFloat64(8, true) * 1000);
    return { left: view.getFloat64(0, true), ends: Number.isNaN(end.getTime()) ? undefined : end };
  }

  /** Gives the memory of this half back; it cannot be used any more. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    abandoned.unregister(this);
    this.#exports.close(this.#half);
  }

  #alive() {
    if (this.#closed) throw new ReticentError("person is closed: make a new one from the protocol");
    return this.#half;
  }

  #seconds() {
    return Math.max(0, Math.floor(this.#now() / 1000));
  }
}

/** The state of an installation: a new one where there is none. */
function parse(text) {
  if (text === undefined) return { ledger: NOBODY, unsent: [] };
  let state;
  try {
    state = JSON.parse(text);
  } catch {
    state = {};
  }
  if (state.version !== VERSION || typeof state.ledger !== "string" || !Array.isArray(state.unsent)) {
    throw new ReticentError(
      "the stored count is not readable: it was written by another version of this package or damaged, and nothing is reported without it",
    );
  }
  return { ledger: fromBase64(state.ledger), unsent: state.unsent };
}

function write({ ledger, unsent }) {
  return JSON.stringify({ version: VERSION, ledger: toBase64(ledger), unsent });
}
