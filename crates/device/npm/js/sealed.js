// A device of a loop with a shuffler: reports are priced by the device's own accountant, counted, and sealed once to their reader.

import { ReticentError } from "./error.js";
import { checkLimits, checkLoop, Half } from "./half.js";
import { load } from "./module.js";
import { toBytes, toText } from "./text.js";

/** One person's half of one loop with a shuffler. */
export class SealedPerson extends Half {
  #plan;
  #sealing;

  /**
   * A person's half from the message of the loop's plan of reports (`protocol`) and what the server and the shuffler answer about sealing
   * (`sealing`). A server that tells its devices another protocol or key than its shuffler is refused.
   *
   * The options are those of `Person.fromProtocol`, without a level: a batch has one level of noise.
   */
  static async fromSealing(plan, server, shuffler, { loop, limits, level, wasm, ...options } = {}) {
    if (level !== undefined) throw new ReticentError("level cannot be chosen in a loop with a shuffler: leave it out");
    const { epsilon, delta, reports, period } = checkLimits(limits);
    const parts = [plan, server, shuffler, checkLoop(loop)].map(toBytes);
    const engine = await load(wasm);
    const open = (engine) => engine.call("open_sealed", [], parts, [epsilon, delta, reports, period]).code;
    const person = new SealedPerson(engine, { loop, ...options }, open, true);
    person.#plan = JSON.parse(toText(plan));
    person.#sealing = JSON.parse(toText(server));
    return person;
  }

  /** The hash of what devices, shuffler and server agree on, which reports carry. */
  get protocol() {
    return this.#sealing.protocol;
  }

  /** How many reports at most leave this installation, ever. */
  get reportsPerPeriod() {
    return Number(this.#plan.contributions_per_person);
  }
}
