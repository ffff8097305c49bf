// A client of the service: questions and rewards, and a person's half that talks to it.

import { ReticentError } from "./error.js";
import { send, ServiceError, UnreachableError } from "./http.js";
import { Person } from "./person.js";
import { toText } from "./text.js";

export { ReticentError, ServiceError, UnreachableError };

/** Reports in one request, at most, and their bytes; a single one may have more. */
const BATCH = 100;
const BATCH_BYTES = 1 << 20;
/** The service takes no request of this size. */
const TOO_LARGE = 413;

/** A client of one loop. */
export class Client {
  #base;
  #loop;
  #options;
  #head;
  #refused = new Set();

  /**
   * `address` is the service's, `loop` the loop's name, `key` a key with the roles that are used. `timeout` is the time for one call with all its
   * retries, in milliseconds.
   */
  constructor(address, loop, { key, timeout = 2000, retries = 2, fetch = globalThis.fetch } = {}) {
    this.#base = `${String(address).replace(/\/+$/, "")}/v1/loops/${encodeURIComponent(loop)}`;
    this.#loop = loop;
    // The browser's fetch must be called on its own object.
    this.#options = { key, timeout, retries, fetch: (...request) => fetch(...request) };
  }

  /**
   * Which of these actions. If the service is away or refuses, the caller's first action is answered with `fallback: true` and the reason, and
   * rewards for it are not sent. An answer that was lost may belong to an event that the service has stored: with `defer` it counts
   * only after `activate`.
   */
  async rank(actions, { context, person, exclude, defer, eventId = crypto.randomUUID() } = {}) {
    const body = { event_id: eventId, person, context, actions, exclude, defer };
    try {
      const { bytes } = await this.#call("POST", "/rank", body);
      const answer = parse(bytes);
      this.#head = answer.head;
      return { action: answer.action, ranking: answer.ranking, eventId: answer.event_id, fallback: false };
    } catch (error) {
      const allowed = actions.filter((action) => !exclude?.includes(action.id));
      // Without an action there is nothing to fall back to.
      if (allowed.length === 0 || !(error instanceof ReticentError)) throw error;
      this.#refused.add(eventId);
      return { action: allowed[0].id, ranking: [], eventId, fallback: true, reason: error };
    }
  }

  /** A reward for an event. Repeated under the same key it counts once. Whether it was sent: not for an event that was answered with a fallback. */
  async reward(eventId, value, { idempotencyKey = crypto.randomUUID() } = {}) {
    if (this.#refused.has(eventId)) return false;
    await this.#call("POST", `/events/${encodeURIComponent(eventId)}/reward`, { value, idempotency_key: idempotencyKey });
    return true;
  }

  /** A deferred event was shown. Whether that was sent. */
  async activate(eventId) {
    if (this.#refused.has(eventId)) return false;
    await this.#call("POST", `/events/${encodeURIComponent(eventId)}/activate`);
    return true;
  }

  /** A person's half of this loop, with the protocol and the model of the service. The options are those of `Person.fromProtocol`. */
  async device(options = {}) {
    const { bytes } = await this.#call("GET", "/protocol");
    const scope = new URL(this.#base, globalThis.location?.href).origin;
    const person = await Person.fromProtocol(bytes, { scope, ...options, loop: this.#loop });
    const device = new Device(person, (...request) => this.#call(...request));
    try {
      await device.refresh();
    } catch (error) {
      // It falls back to the first action until a model comes.
      if (!error.temporary) throw error;
    }
    return device;
  }

  #call(method, path, body) {
    const { key, ...options } = this.#options;
    const headers = { accept: "application/json" };
    if (key !== undefined) headers.authorization = `Bearer ${key}`;
    // Devices do not call `rank`, and their browsers would ask before they send another header.
    if (this.#head !== undefined) headers["reticent-head"] = this.#head;
    if (body !== undefined) headers["content-type"] = "application/json";
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    return send(`${this.#base}${path}`, { method, headers, body: text, ...options });
  }
}

/** A person's half with the service behind it. Nothing raw leaves it. */
export class Device {
  #call;

  constructor(person, call) {
    this.person = person;
    this.#call = call;
  }

  /** Fetches the newest model. */
  async refresh() {
    const { bytes } = await this.#call("GET", "/model");
    this.person.setModel(bytes);
  }

  /** Which action to take, by the model; the first one, with `fallback: true`, if there is no model yet. Nobody learns which. */
  choose(context, actions) {
    if (actions.length > 0 && this.person.model === undefined) {
      return { index: 0, action: actions[0], choice: undefined, fallback: true };
    }
    const choice = this.person.choose(context, actions.map((action) => action?.features ?? action));
    return { index: choice.index, action: actions[choice.index], choice, fallback: false };
  }

  /**
   * Counts a report, stores it, and sends it with all that were not sent before. Returns its `bytes` and what became of it: `taken`, `refused` for good,
   * or `waiting` to be sent again, with the `reason`; `undefined` after a fallback. If it rejects, no report was made.
   */
  async report(reward, choice) {
    if (choice === undefined) return undefined;
    const bytes = await this.person.report(reward, choice);
    const own = toText(bytes);
    const { outcomes, reason } = await this.#flush();
    return { bytes, outcome: outcomes.get(own) ?? "waiting", reason };
  }

  /**
   * Sends reports that have not arrived, as the bytes they are. Returns how many were taken, refused for good, are waiting, and were dropped unsent in the
   * life of this installation because they were too old or too many; and the `reason` if some wait.
   */
  async flush() {
    const { outcomes, reason } = await this.#flush();
    const count = (outcome) => [...outcomes.values()].filter((other) => other === outcome).length;
    const { waiting, dropped } = await this.person.status();
    return { taken: count("taken"), refused: count("refused"), waiting, dropped, ...(reason && { reason }) };
  }

  /** What became of each report, by its text, and why some wait. */
  async #flush() {
    const outcomes = new Map();
    let reason;
    for (const reports of batches((await this.person.unsent()).map(toText))) {
      try {
        await this.#send(reports, outcomes);
      } catch (error) {
        if (!(error instanceof ReticentError)) throw error;
        reason = error;
        // The others would fail alike.
        break;
      }
    }
    return { outcomes, reason };
  }

  /** Sends some reports, in parts if the service takes only smaller requests, and forgets those that need not be sent again. */
  async #send(reports, outcomes) {
    try {
      const { bytes } = await this.#call("POST", "/reports/batch", `{"reports":[${reports.join(",")}]}`);
      const { results } = parse(bytes);
      reports.forEach((report, index) => outcomes.set(report, outcomeOf(results?.[index])));
    } catch (error) {
      if (error.status !== TOO_LARGE) throw error;
      if (reports.length > 1) {
        const half = Math.ceil(reports.length / 2);
        await this.#send(reports.slice(0, half), outcomes);
        return this.#send(reports.slice(half), outcomes);
      }
      // It will never be taken, and must not keep the others waiting.
      outcomes.set(reports[0], "refused");
    }
    await this.person.settled(reports.filter((report) => outcomes.get(report) !== "waiting"));
  }
}

/** An answer of the service. */
function parse(bytes) {
  try {
    return Object(JSON.parse(toText(bytes)));
  } catch (cause) {
    throw new ReticentError("the answer is no JSON: something else than the service has answered", { cause });
  }
}

/** What became of a report: `taken`, now or before; `refused`, as the same bytes would always be; or `waiting`. */
function outcomeOf({ outcome, problem } = {}) {
  if (outcome !== undefined) return "taken";
  return problem !== undefined && !new ServiceError(problem.status, problem).temporary ? "refused" : "waiting";
}

/** Reports in requests of a size that services take. */
function batches(reports) {
  const all = [];
  let bytes = Infinity;
  for (const report of reports) {
    bytes += report.length + 1;
    if (bytes > BATCH_BYTES || all.at(-1).length === BATCH) {
      all.push([]);
      bytes = report.length;
    }
    all.at(-1).push(report);
  }
  return all;
}
