// A client of the service: questions and rewards, and a person's half that talks to it.

import { ReticentError } from "./error.js";
import { send, ServiceError, UnreachableError } from "./http.js";
import { Person } from "./person.js";
import { toText } from "./text.js";

export { ReticentError, ServiceError, UnreachableError };

/** Reports in one request, at most. */
const BATCH = 100;

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
      const answer = JSON.parse(toText(bytes));
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
    const person = await Person.fromProtocol(bytes, { scope, ...options });
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
    const choice = this.person.choose(context, actions.map((action) => action.features ?? action));
    return { index: choice.index, action: actions[choice.index], choice, fallback: false };
  }

  /** Counts a report, stores it, and sends it with all that were not sent before. Returns its bytes; `undefined` after a fallback. */
  async report(reward, choice) {
    if (choice === undefined) return undefined;
    const report = await this.person.report(reward, choice);
    await this.flush();
    return report;
  }

  /**
   * Sends reports that have not arrived, as the bytes they are; those that the service cannot be reached for stay. Returns how many were taken,
   * refused for good, and are waiting.
   */
  async flush() {
    const all = await this.person.unsent();
    const sum = { taken: 0, refused: 0, waiting: all.length };
    for (let start = 0; start < all.length; start += BATCH) {
      const reports = all.slice(start, start + BATCH);
      let results;
      try {
        results = await this.#send(reports);
      } catch (error) {
        if (error.temporary) return sum;
        throw error;
      }
      const settled = reports.filter((_, index) => results[index] !== "waiting");
      await this.person.settled(settled);
      sum.taken += results.filter((result) => result === "taken").length;
      sum.refused += results.filter((result) => result === "refused").length;
      sum.waiting -= settled.length;
    }
    return sum;
  }

  /** What became of each report: `taken`, now or before; `refused`, as the same bytes would always be; or `waiting`. */
  async #send(reports) {
    const body = `{"reports":[${reports.map(toText).join(",")}]}`;
    const { bytes } = await this.#call("POST", "/reports/batch", body);
    const { results } = JSON.parse(toText(bytes));
    return reports.map((_, index) => {
      const { outcome, problem } = results[index] ?? {};
      if (outcome !== undefined) return "taken";
      return problem !== undefined && !new ServiceError(problem.status, problem).temporary ? "refused" : "waiting";
    });
  }
}
