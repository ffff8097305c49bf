// A client of the service: rank requests and rewards, and a device that talks to it.

import { ReticentError } from "./error.js";
import { send, ServiceError, UnreachableError } from "./http.js";
import { Person } from "./person.js";
import { SealedPerson } from "./sealed.js";
import { toBase64, toText } from "./text.js";

export { ReticentError, ServiceError, UnreachableError };

/** Reports in one request, at most, and their bytes; a single one may have more. */
const BATCH = 100;
const BATCH_BYTES = 1 << 20;
/** The service takes no request of this size. */
const TOO_LARGE = 413;
/** Statuses by which a shuffler refuses a report for good: a model that is too old, and bytes of another form or protocol. */
const NEVER = [410, 422];
/** Status by which a shuffler takes this report later; it may take others. */
const NOT_YET = 503;
/** Addresses of this machine, as `URL` writes them. */
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost|.*\.localhost)$/;
/** Events that were answered with a fallback and are remembered, at most. */
const MOST_FALLBACKS = 100_000;

/** A client of one loop. */
export class Client {
  #base;
  #loop;
  #options;
  #key;
  #head;
  #insecure;
  #fallbacks = new Set();

  /**
   * `address` is the service's, `loop` the loop's name, `key` a key with the roles that are used. `timeout` is the time for one call with all its
   * retries, in milliseconds. Without TLS the service must be on this machine, unless `insecure` says that the network is trusted.
   */
  constructor(address, loop, { key, timeout = 2000, retries = 2, fetch = globalThis.fetch, insecure = false } = {}) {
    this.#insecure = insecure;
    this.#base = base(address, loop, insecure);
    this.#loop = loop;
    this.#key = key;
    // The browser's fetch must be called on its own object.
    this.#options = { timeout, retries, fetch: (...request) => fetch(...request) };
  }

  /**
   * Chooses one of these actions. If the service is away (it does not answer in time, or with 429 or 5xx), the caller's first action that is not excluded is answered, with
   * `fallback: true` and the `reason`, and rewards for it are not sent. A refusal (a wrong key, a field that cannot be used) rejects with a `ServiceError`. An
   * answer that was lost may belong to an event that the service has stored: with `defer` it counts only after `activate`.
   */
  async rank(actions, { context, person, exclude, defer, eventId = crypto.randomUUID() } = {}) {
    if (!Array.isArray(actions) || actions.length === 0 || !actions.every((action) => typeof action?.id === "string")) {
      throw new ReticentError("actions: got what cannot be used; expected at least one, each as { id: TEXT, features: {...} }");
    }
    const body = { event_id: eventId, person, context, actions, exclude, defer };
    try {
      const answer = ranked(await this.#call("POST", "/rank", body), this.#base);
      this.#head = answer.head;
      this.#fallbacks.delete(eventId);
      return { action: answer.action, ranking: answer.ranking, eventId: answer.event_id, fallback: false };
    } catch (error) {
      const allowed = actions.filter((action) => !exclude?.includes(action.id));
      // Without an action there is nothing to fall back to.
      if (allowed.length === 0 || !error.temporary) throw error;
      this.#remember(eventId);
      return { action: allowed[0].id, ranking: [], eventId, fallback: true, reason: error };
    }
  }

  /** A reward for an event. Repeated under the same key it counts once. Whether it was sent: not for an event that was answered with a fallback. */
  async reward(eventId, value, { idempotencyKey = crypto.randomUUID() } = {}) {
    if (this.#fallbacks.has(eventId)) return false;
    await this.#call("POST", `/events/${encodeURIComponent(eventId)}/reward`, { value, idempotency_key: idempotencyKey });
    return true;
  }

  /** A deferred event was shown. Whether that was sent. */
  async activate(eventId) {
    if (this.#fallbacks.has(eventId)) return false;
    await this.#call("POST", `/events/${encodeURIComponent(eventId)}/activate`);
    return true;
  }

  /**
   * A device of this loop, with the protocol and the model of the service. The options are those of `Person.fromProtocol`.
   *
   * `shuffler` is the address of the loop's shuffler, where it has one (`trust = "shuffler"`): reports are sealed and sent there, without the key of this client.
   * They are priced by the device's own accountant, and there is no level to choose.
   */
  async device({ shuffler, ...given } = {}) {
    const scope = new URL(this.#base, globalThis.location?.href).origin;
    const options = { scope, ...given, loop: this.#loop };
    const server = (...request) => this.#call(...request);
    const [person, post] =
      shuffler === undefined ? await direct(server, options) : await shuffled(server, this.#mixer(shuffler), options);
    const device = new Device(person, server, post);
    try {
      await device.refresh();
    } catch (error) {
      // It falls back to the first action until a model comes.
      if (!error.temporary) throw error;
    }
    return device;
  }

  /** Calls of the shuffler at this address, which gets neither the key nor the head. */
  #mixer(address) {
    const mixed = base(address, this.#loop, this.#insecure);
    const whole = (one) => new URL(one, globalThis.location?.href).href;
    if (whole(mixed) === whole(this.#base)) {
      throw new ReticentError(
        `shuffler: got ${address}, the address of the server; reports would reach it with their sender; expected the address of \`reticent-server shuffle\``,
      );
    }
    return (method, path, body, more) => {
      const headers = { accept: "application/json" };
      if (body !== undefined) headers["content-type"] = "application/octet-stream";
      return send(`${mixed}${path}`, { method, headers, body, ...this.#options, ...more });
    };
  }

  #remember(eventId) {
    this.#fallbacks.add(eventId);
    // A set keeps the order: the oldest goes first.
    if (this.#fallbacks.size > MOST_FALLBACKS) this.#fallbacks.delete(this.#fallbacks.values().next().value);
  }

  #call(method, path, body) {
    const headers = { accept: "application/json" };
    if (this.#key !== undefined) headers.authorization = `Bearer ${this.#key}`;
    // Devices do not call `rank`, and their browsers would ask before they send another header.
    if (this.#head !== undefined) headers["reticent-head"] = this.#head;
    if (body !== undefined) headers["content-type"] = "application/json";
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    return send(`${this.#base}${path}`, { method, headers, body: text, ...this.#options });
  }
}

/** The address of a loop's calls. */
function base(address, loop, insecure) {
  // A page may name its own server by a path.
  const { protocol, hostname } = parsed(address);
  if (protocol === "http:" && !insecure && !LOOPBACK.test(hostname)) {
    throw new ReticentError(
      `address: got http://${hostname}; what people do would cross the network in the clear; expected https://, or \`insecure: true\` inside a network that you trust`,
    );
  }
  return `${String(address).replace(/\/+$/, "")}/v1/loops/${encodeURIComponent(loop)}`;
}

function parsed(address) {
  try {
    return new URL(address, globalThis.location?.href);
  } catch {
    throw new ReticentError(`address: got ${JSON.stringify(String(address))}; expected https://HOST, or http://HOST:PORT on this machine`);
  }
}

/** A device whose reports go to the server, and the way they go there. */
async function direct(server, options) {
  const { bytes, address } = await server("GET", "/protocol");
  if (parse(bytes, address).kind === "report_plan") {
    throw new ReticentError("shuffler: missing; reports of this loop go through one; add its address");
  }
  return [await Person.fromProtocol(bytes, options), (reports) => toServer(server, reports)];
}

/** A device whose reports go to a shuffler, and the way they go there. */
async function shuffled(server, mixer, options) {
  // Both are asked, so that a server cannot send its devices another protocol than its shuffler has.
  const asked = await Promise.all([server("GET", "/protocol"), server("GET", "/sealing"), mixer("GET", "/sealing")]);
  const person = await SealedPerson.fromSealing(...asked.map(({ bytes }) => bytes), options);
  return [person, (reports) => toShuffler(mixer, reports)];
}

/** A person's device with the service behind it. Nothing raw leaves it. */
export class Device {
  #server;
  #post;

  /** `post` sends reports, and gives for each part that it has sent what became of the reports in it. */
  constructor(person, server, post) {
    this.person = person;
    this.#server = server;
    this.#post = post;
  }

  /** Fetches the newest model. */
  async refresh() {
    const { bytes } = await this.#server("GET", "/model");
    this.person.setModel(bytes);
  }

  /** The action to take, by the model; the first one, with `fallback: true`, if there is no model yet. The choice does not leave the device. */
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
    const bytes = await this.#made(reward, choice);
    const { outcomes, reason } = await this.#flush();
    const outcome = outcomes.get(toBase64(bytes)) ?? "waiting";
    return { bytes, outcome, reason };
  }

  /** A report. Where there is none left to make, those that wait are sent all the same. */
  async #made(reward, choice) {
    try {
      return await this.person.report(reward, choice);
    } catch (error) {
      await this.#flush();
      throw error;
    }
  }

  /**
   * Sends reports that have not arrived, as the bytes they are: for pages to call when they open. Returns how many were taken, refused for good, are waiting, and were dropped unsent in the
   * life of this installation because they were too old or too many; and the `reason` if some wait.
   */
  async flush() {
    const { outcomes, reason } = await this.#flush();
    const count = (outcome) => [...outcomes.values()].filter((other) => other === outcome).length;
    const { waiting, dropped } = await this.person.status();
    return { taken: count("taken"), refused: count("refused"), waiting, dropped, ...(reason && { reason }) };
  }

  /** The outcome of each report, by its bytes, and the reason for which reports wait. */
  async #flush() {
    const outcomes = new Map();
    let reason;
    try {
      for await (const part of this.#post(await this.person.unsent())) {
        for (const { report, outcome } of part) outcomes.set(toBase64(report), outcome);
        reason ??= part.find((one) => one.reason)?.reason;
        await this.person.settled(part.filter(({ outcome }) => outcome !== "waiting").map(({ report }) => report));
      }
    } catch (error) {
      // The reports that were not sent yet would fail alike.
      if (!(error instanceof ReticentError)) throw error;
      reason = error;
    }
    return { outcomes, reason };
  }
}

/** Sends reports to the server, many in one request. */
async function* toServer(server, reports) {
  for (const part of batches(reports)) yield* inParts(server, part);
}

/** Sends some reports in one request, in smaller ones where the service takes only these. */
async function* inParts(server, reports) {
  try {
    const { bytes, address } = await server("POST", "/reports/batch", `{"reports":[${reports.map(toText).join(",")}]}`);
    const { results } = parse(bytes, address);
    yield reports.map((report, index) => ({ report, outcome: outcomeOf(results?.[index]) }));
  } catch (error) {
    if (error.status !== TOO_LARGE) throw error;
    if (reports.length > 1) {
      const half = Math.ceil(reports.length / 2);
      yield* inParts(server, reports.slice(0, half));
      yield* inParts(server, reports.slice(half));
    } else {
      // It will never be taken, and must not keep the others waiting.
      yield [{ report: reports[0], outcome: "refused" }];
    }
  }
}

/** Sends sealed reports to the shuffler, one by one. One that it cannot take yet keeps no other waiting, which is then tried once. */
async function* toShuffler(mixer, reports) {
  let more;
  for (const report of reports) {
    try {
      await mixer("POST", "/reports", report, more);
      yield [{ report, outcome: "taken" }];
    } catch (error) {
      if (NEVER.includes(error.status)) {
        yield [{ report, outcome: "refused" }];
      } else if (error.status === NOT_YET) {
        more = { retries: 0 };
        yield [{ report, outcome: "waiting", reason: error }];
      } else {
        throw error;
      }
    }
  }
}

/** An answer of the service. What is none was given by something else, and the service is away. */
function parse(bytes, address) {
  try {
    return Object(JSON.parse(toText(bytes)));
  } catch (cause) {
    throw new UnreachableError(address, new Error("the answer is no JSON: something else than the service has answered", { cause }));
  }
}

/** An answer of the service to a question. */
function ranked({ bytes }, address) {
  const answer = parse(bytes, address);
  if (typeof answer.action === "string" && typeof answer.event_id === "string" && Array.isArray(answer.ranking)) return answer;
  throw new UnreachableError(address, new Error("the answer is not one of this service"));
}

/** The outcome of a report: `taken`, now or before; `refused`, as the same bytes would always be; or `waiting`. */
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
