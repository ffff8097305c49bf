// A person's half of a loop with a shuffler: reports are priced by the device's own accountant, counted, and sealed once to whoever opens them.
//
// Its module is another one than that of `person.js`, and is loaded only by pages that use such a loop.

import { ReticentError } from "./error.js";
import { call, checkLimits, checkLoop, Half } from "./half.js";
import { loader } from "./module.js";
import { toBytes, toText } from "./text.js";

const load = loader(new URL("./sealed.wasm", import.meta.url));

/** One person's half of one loop with a shuffler. */
export class SealedPerson extends Half {
  #plan;
  #sealing;
  #shuffler;

  /**
   * A person's half from the message of the loop's plan of reports (`protocol`) and the server's answer about sealing (`sealing`). Where `needsKey`, the
   * shuffler's own answer is given to `sealToShuffler` before the first report.
   *
   * The options are those of `Person.fromProtocol`, without a level: a batch has one level of noise.
   */
  static async fromSealing(plan, sealing, { loop, limits, level, wasm, ...options } = {}) {
    if (level !== undefined) throw new ReticentError("level cannot be chosen in a loop with a shuffler: leave it out");
    const { epsilon, delta, reports, period } = checkLimits(limits);
    const parts = [plan, sealing, checkLoop(loop)].map(toBytes);
    const engine = await load(wasm);
    const shuffler = {};
    const open = (engine) => {
      const { code } = engine.call("open", [], parts, [epsilon, delta, reports, period]);
      if (shuffler.sealing !== undefined) engine.call("seal_to_shuffler", [code], [shuffler.sealing]);
      return code;
    };
    const person = new SealedPerson(engine, { loop, ...options }, open, true);
    person.#plan = JSON.parse(toText(plan));
    person.#sealing = JSON.parse(toText(sealing));
    person.#shuffler = shuffler;
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

  /** Whether reports are sealed to the shuffler, and its answer about sealing is still missing. */
  get needsKey() {
    return this[call]("needs_key", [], []).code === 1;
  }

  /** Reports are sealed to the shuffler that gave this answer about sealing. */
  sealToShuffler(sealing) {
    const bytes = toBytes(sealing);
    this[call]("seal_to_shuffler", [], [bytes]);
    this.#shuffler.sealing = bytes;
  }
}
