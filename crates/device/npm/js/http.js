// Requests with a time limit and retries.
//
// A request is repeated with the same bytes, and every request here may be: an event has an id, a reward an idempotency key, a report an id of its own.

import { ReticentError } from "./error.js";

/** Keeps back what a browser would add by itself: cookies of the service's site, the page's address, and tags of earlier answers, which could name a device. */
const PRIVATE = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };

/** An answer of the service that says what is wrong (RFC 9457). */
export class ServiceError extends ReticentError {
  constructor(status, problem) {
    const { detail, remedy } = problem ?? {};
    // Details about a field end with the remedy.
    const words = remedy && !detail?.includes(remedy) ? `${detail}; ${remedy}` : detail;
    super(detail ? words : `the service answers with ${status}`);
    this.name = "ServiceError";
    this.status = status;
    this.problem = problem;
  }

  /** True if the same request may succeed later. */
  get temporary() {
    return this.status === 408 || this.status === 425 || this.status === 429 || this.status >= 500;
  }
}

/** The service did not answer in time, or at all. What was sent may have arrived. */
export class UnreachableError extends ReticentError {
  constructor(address, cause) {
    super(`${address} did not answer, and may have received what was sent: ${cause?.message ?? cause}`, { cause });
    this.name = "UnreachableError";
  }

  get temporary() {
    return true;
  }
}

/** Sends a request, again after a pause if it failed for a while, until `deadline` has passed or it was tried `retries` times more. */
export async function send(address, { method, headers, body, timeout, retries, fetch }) {
  const deadline = performance.now() + timeout;
  for (let attempt = 0; ; attempt += 1) {
    let failure, pause;
    try {
      // Every attempt has its share of the time, so that one lost packet does not take all of it.
      const left = deadline - performance.now();
      const share = left / (retries - attempt + 1);
      const signal = AbortSignal.timeout(Math.max(1, Math.ceil(share)));
      const response = await fetch(address, { ...PRIVATE, method, headers, body, signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (response.ok) return { bytes, address, headers: response.headers, status: response.status };
      failure = new ServiceError(response.status, problemOf(bytes));
      const seconds = Number(response.headers.get("retry-after"));
      pause = seconds > 0 ? seconds * 1000 : undefined;
    } catch (error) {
      if (error instanceof ReticentError) throw error;
      failure = new UnreachableError(address, error);
    }
    // 100, 200, 400 ... milliseconds and up to as much again, so that clients do not come back together.
    pause ??= 100 * 2 ** attempt * (1 + jitter());
    if (!failure.temporary || attempt >= retries || performance.now() + pause >= deadline) throw failure;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** A number between 0 and 1. */
function jitter() {
  return crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
}

function problemOf(bytes) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
