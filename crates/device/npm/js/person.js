// A device of a loop whose devices report to the server.

import { ReticentError } from "./error.js";
import { BaseDevice, call, checkLimits, checkLoop } from "./base.js";
import { load } from "./module.js";
import { toBytes, toText } from "./text.js";

/** One person's device in one loop. */
export class Person extends BaseDevice {
  #protocol;
  #level;

  /**
   * A device from the bytes of the loop's protocol.
   *
   * `loop` is the name that was asked for: a protocol of another is refused. `limits` is the most that the person accepts, whatever the protocol says:
   * `epsilon`, `delta` and `reports` of a period, and the seconds of a `period`, at least. `level` is the index of the person's level among `levels`;
   * by default the smallest epsilon. `storage` keeps how many reports were made; by default the browser's database. `scope` tells loops of the same
   * name at different services apart. `wasm` is the module or its bytes where they cannot be fetched. `now` gives the time in milliseconds.
   */
  static async fromProtocol(protocol, { loop, limits, level, wasm, ...options } = {}) {
    const bytes = toBytes(protocol);
    const { epsilon, delta, reports, period } = checkLimits(limits);
    const name = toBytes(checkLoop(loop));
    const engine = await load(wasm);
    // The module checks the message before it is read here.
    const levels = readLevels(bytes);
    const place = { level: level ?? levels.indexOf(Math.min(...levels)) };
    checkLevel(place.level, levels);
    const open = (engine) => engine.call("open", [], [bytes, name], [place.level, epsilon, delta, reports, period]).code;
    const person = new Person(engine, { loop, ...options }, open, false);
    person.#protocol = JSON.parse(toText(bytes));
    person.#level = place;
    return person;
  }

  /** The hash of the protocol, which models and reports carry. */
  get protocol() {
    return this.#protocol.hash;
  }

  /** The levels of epsilon that the person chooses from. */
  get levels() {
    return levelsOf(this.#protocol);
  }

  /** The index of the person's level. */
  get level() {
    return this.#level.level;
  }

  /** Reports from now on are made at this level, if the limits allow it. The choice of a level must not depend on what the reports would say. */
  setLevel(level) {
    checkLevel(level, this.levels);
    this[call]("set_level", [level], []);
    this.#level.level = level;
  }

  /** The most reports that leave this installation in a period. */
  get reportsPerPeriod() {
    return Number(this.#protocol.report.contributions_per_person);
  }
}

/** The levels of a protocol. */
function levelsOf(protocol) {
  const { levels } = protocol.report;
  return levels.public ?? levels.hidden.epsilons;
}

/** The levels of a message that is not checked yet; the module refuses a wrong one. */
function readLevels(bytes) {
  try {
    const levels = levelsOf(JSON.parse(toText(bytes)));
    if (Array.isArray(levels) && levels.length > 0) return levels;
  } catch {
    // Read by the module again.
  }
  return [0];
}

function checkLevel(level, levels) {
  // The module would read a larger number modulo 2^32.
  if (!Number.isInteger(level) || level < 0 || level >= levels.length) {
    const shown = typeof level === "number" ? level : "no number";
    throw new ReticentError(`level: got ${shown}; expected the index of one of ${levels.length} levels`);
  }
}
