// A device of a loop with a shuffler: reports are priced by the device's own accountant, counted, and sealed once to their reader.

import { ReticentError } from "./error.js";
import { BaseDevice, checkLimits, checkLoop } from "./base.js";
import { load } from "./module.js";
import { toBytes, toText } from "./text.js";

/** One person's device in one loop with a shuffler. */
export class SealedPerson extends BaseDevice {
  #plan;
  #sealing;

  /**
   * A device from the message of the loop's plan of reports (`protocol`) and the answers of the server and the shuffler about sealing (`sealing`). A server that tells its devices another protocol or key than its shuffler is refused.
   *
   * The options are those of `Person.fromProtocol`, without a level: a batch has one level of noise.
   */
  static async fromSealing(plan, server, shuffler, { loop, limits, level, wasm, ...options } = {}) {
    if (level !== undefined) throw new ReticentError("level: got a value; a batch behind a shuffler has one level of noise: leave it out");
    const { epsilon, delta, reports, period } = checkLimits(limits);
    const parts = [plan, server, shuffler, checkLoop(loop)].map(toBytes);
    const engine = await load(wasm);
    const open = (engine) => engine.call("open_sealed", [], parts, [epsilon, delta, reports, period]).code;
    const person = new SealedPerson(engine, { loop, ...options }, open, true);
    person.#plan = JSON.parse(toText(plan));
    person.#sealing = JSON.parse(toText(server));
    return person;
  }

  /** The hash of the protocol that devices, shuffler and server agree on, which reports carry. */
  get protocol() {
    return this.#sealing.protocol;
  }

  /** The most reports that leave this installation, ever. */
  get reportsPerPeriod() {
    return Number(this.#plan.contributions_per_person);
  }
}
