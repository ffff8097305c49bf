// The base of all devices: they choose by a model, count a report before it leaves, and keep it until it has arrived.

import { ReticentError } from "./error.js";
import { recordText } from "./record.js";
import { indexedDbStorage } from "./storage.js";
import { fromBase64, toBase64, toBytes, toText } from "./text.js";

/** The version of the state that an installation keeps. */
const VERSION = 1;

const NO_LEDGER = new Uint8Array();

/** Reports that wait to be sent, at most, and for how many seconds: a report that comes again and again tells the service that it is the same installation. */
const MOST_UNSENT = 100;
const LONGEST_UNSENT = 7 * 86_400;

/** Limits of a person who gives no others, as in Rust and Python: in a period epsilon, delta and reports at most, and its seconds at least. */
export const LIMITS = Object.freeze({ epsilon: 8, delta: 1e-5, reports: 1000, period: 86_400 });

/** The name of the method by which devices call their module. Pages do not have it: a report that the module makes is stored before it is given out. */
export const call = Symbol("call");

// The memory of devices that are gone is given back.
const abandoned = new FinalizationRegistry(({ engine, number, generation }) => engine.close(number, generation));

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
    if (saved === undefined) throw new ReticentError("choice: got what cannot be read; expected the text of a choice");
    return new Choice(Number(index), fromBase64(saved));
  }

  /** The bytes that the module wrote. */
  get saved() {
    return this.#saved;
  }
}

/** One person's device in one loop, in the module. */
export class BaseDevice {
  #engine;
  #open;
  #number;
  #generation;
  #loop;
  #storage;
  #key;
  #sealed;
  #model;
  #modelBytes;
  #chosen;
  #now;
  #closed = false;

  /**
   * `open` opens the device in the module's present instance, and gives its number. `sealed` says whether its reports are sealed bytes; others are text.
   */
  constructor(engine, { loop, storage, scope = "", now = Date.now }, open, sealed) {
    this.#engine = engine;
    this.#open = open;
    this.#loop = loop;
    this.#storage = storage ?? indexedDbStorage();
    // The count belongs to the loop that was asked for, and not to the one that a message names.
    this.#key = JSON.stringify([scope, loop]);
    this.#sealed = sealed;
    this.#now = now;
    this.#start();
  }

  #start() {
    this.#number = this.#open(this.#engine);
    this.#generation = this.#engine.generation;
    const held = { engine: this.#engine, number: this.#number, generation: this.#generation };
    abandoned.unregister(this);
    abandoned.register(this, held, this);
    if (this.#modelBytes !== undefined) this.#engine.call("set_model", [this.#number], [this.#modelBytes]);
  }

  /** The loop's name. */
  get loop() {
    return this.#loop;
  }

  /** The number of the model that choices follow, if there is one. */
  get model() {
    return this.#model;
  }

  /** Choices from now on follow this model. */
  setModel(model) {
    const bytes = toBytes(model);
    this[call]("set_model", [], [bytes]);
    this.#modelBytes = bytes;
    this.#model = Number(JSON.parse(toText(bytes)).sequence);
  }

  /** A choice among the actions. Records are plain objects; what the loop's rule does not list is not looked at, and no record is refused. */
  choose(context, actions) {
    if (!Array.isArray(actions)) throw new ReticentError("actions: got no list; expected a list of actions");
    const list = Array.from(actions, recordText).join(",");
    const parts = [recordText(context), `[${list}]`].map(toBytes);
    const { code, bytes } = this[call]("choose", [], parts);
    this.#chosen = new Choice(code, bytes);
    return this.#chosen;
  }

  /**
   * The report of a choice, by default the last one, and its reward: the bytes that may leave. They were counted and stored before they are returned,
   * and stay in `unsent` until they are `settled`. Beyond the period's count it is refused, and nothing is stored.
   */
  async report(reward, choice = this.#chosen) {
    if (choice === undefined) throw new ReticentError("choice: missing; choose first; a choice is reported once");
    if (typeof reward === "bigint") reward = Number(reward);
    if (!Number.isFinite(reward)) throw new ReticentError("reward: got no finite number; expected a finite number");
    const last = choice === this.#chosen;
    if (last) this.#chosen = undefined;
    try {
      return await this.#storage.update(this.#key, (text) => {
        const seconds = this.#seconds();
        const state = parse(text);
        const parts = [choice.saved, state.ledger];
        const { code, bytes } = this[call]("report", [], parts, [seconds, reward]);
        const report = bytes.subarray(code);
        state.unsent.push({ report: this.#write(report), since: seconds, sealed: this.#sealed });
        return { text: write({ ...fresh(state, seconds), ledger: bytes.subarray(0, code) }), value: report };
      });
    } catch (error) {
      if (last) this.#chosen ??= choice;
      throw error;
    }
  }

  /** Reports that were counted and have not been settled, the oldest first: to be sent again as they are. After 7 days, and beyond 100, they are dropped. */
  async unsent() {
    const state = fresh(parse(await this.#storage.read(this.#key)), this.#seconds());
    return this.#own(state).map(({ report }) => this.#read(report));
  }

  /** Forgets reports that have arrived or were refused for good. They stay counted. */
  async settled(reports) {
    const gone = new Set([reports].flat().map((report) => this.#write(report)));
    await this.#storage.update(this.#key, (text) => {
      const state = parse(text);
      const unsent = state.unsent.filter(({ report }) => !gone.has(report));
      return { text: write(fresh({ ...state, unsent }, this.#seconds())) };
    });
  }

  /**
   * Reports that this installation may still make, the end of the period (`undefined`: never), reports that wait to be sent, and those dropped unsent so far,
   * because they were too old or too many.
   */
  async status() {
    const seconds = this.#seconds();
    const state = fresh(parse(await this.#storage.read(this.#key)), seconds);
    const { bytes } = this[call]("status", [], [state.ledger], [seconds]);
    const view = new DataView(bytes.buffer);
    const end = new Date(view.getFloat64(8, true) * 1000);
    const ends = Number.isNaN(end.getTime()) ? undefined : end;
    return { left: view.getFloat64(0, true), ends, waiting: this.#own(state).length, dropped: state.dropped };
  }

  /** Gives the memory of this device back; it cannot be used any more. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    abandoned.unregister(this);
    this.#engine.close(this.#number, this.#generation);
  }

  /** Calls the module, in whose present instance the device is opened again if there is a new one. */
  [call](name, before, parts, after) {
    if (this.#closed) throw new ReticentError("person: got a closed one; make a new one from the protocol");
    if (this.#generation !== this.#engine.generation) this.#start();
    return this.#engine.call(name, [this.#number, ...before], parts, after);
  }

  /** Reports of devices like this one: a loop that had no shuffler before may have left others. */
  #own({ unsent }) {
    return unsent.filter(({ sealed = false }) => sealed === this.#sealed);
  }

  /** A report as it is stored. */
  #write(report) {
    return this.#sealed ? toBase64(toBytes(report)) : toText(report);
  }

  #read(text) {
    return this.#sealed ? fromBase64(text) : toBytes(text);
  }

  #seconds() {
    return Math.max(0, Math.floor(this.#now() / 1000));
  }
}

/** The limits of a person who gave these. */
export function checkLimits(given = {}) {
  for (const [name, limit] of Object.entries(given)) {
    if (!(name in LIMITS)) throw new ReticentError(`limits: got ${name}; expected ${Object.keys(LIMITS).join(", ")}`);
    if (limit !== undefined && !(typeof limit === "number" && limit >= 0)) {
      throw new ReticentError(`limits.${name}: got ${typeof limit === "number" ? limit : "no number"}; expected a number, 0 or above`);
    }
  }
  const limits = { ...LIMITS };
  for (const name of Object.keys(LIMITS)) limits[name] = given[name] ?? LIMITS[name];
  return limits;
}

/** The name of a loop that was asked for. */
export function checkLoop(loop) {
  if (typeof loop !== "string") throw new ReticentError("loop: missing; add the name of the loop that was asked for");
  return loop;
}

/** The state without reports that have waited too long, or are too many: the oldest go first. They stay counted. */
function fresh(state, seconds) {
  const unsent = state.unsent.filter(({ since }) => seconds - since < LONGEST_UNSENT).slice(-MOST_UNSENT);
  return { ...state, unsent, dropped: state.dropped + state.unsent.length - unsent.length };
}

/** The state of an installation: a new one where there is none. */
function parse(text) {
  if (text === undefined) return { ledger: NO_LEDGER, unsent: [], dropped: 0 };
  let state;
  try {
    state = JSON.parse(text);
  } catch {
    state = {};
  }
  const readable = typeof state?.ledger === "string" && Array.isArray(state.unsent) && Number.isSafeInteger(state.dropped);
  if (state?.version !== VERSION || !readable) {
    throw new ReticentError(
      "stored count: got what cannot be read; it was written by another version of this package or damaged, and nothing is reported without it",
    );
  }
  return { ledger: fromBase64(state.ledger), unsent: state.unsent, dropped: state.dropped };
}

function write({ ledger, unsent, dropped }) {
  return JSON.stringify({ version: VERSION, ledger: toBase64(ledger), unsent, dropped });
}
