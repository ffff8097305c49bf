import { BaseDevice, Choice, Features, Person, PersonOptions, ReticentError, SealedOptions, SealedPerson } from "./index.js";

export { ReticentError };

/** A problem as the service describes it (RFC 9457). */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  field?: string;
  value?: string;
  remedy?: string;
}

/** An answer of the service that says what is wrong. */
export class ServiceError extends ReticentError {
  readonly status: number;
  readonly problem: Problem | undefined;
  /** True if the same request may succeed later. */
  readonly temporary: boolean;
}

/** The service did not answer in time, or at all. What was sent may have arrived. */
export class UnreachableError extends ReticentError {
  readonly temporary: true;
}

/** An action that may be chosen. */
export interface Action {
  id: string;
  features?: Features;
}

export interface RankOptions {
  context?: Features;
  person?: string;
  exclude?: string[];
  defer?: boolean;
  eventId?: string;
}

export interface RankAnswer {
  /** The id of the action to take. */
  action: string;
  /** All actions with their probabilities, the chosen one first; empty after a fallback. */
  ranking: { id: string; probability: number }[];
  eventId: string;
  /** True if the service was away; this is then the caller's first action. Rewards of the event are not sent. */
  fallback: boolean;
  /** The reason. */
  reason?: ServiceError | UnreachableError;
}

export interface ClientOptions {
  key?: string;
  /** The time for one call with all its retries, in milliseconds. */
  timeout?: number;
  retries?: number;
  /** Accepts an address without TLS on another machine, inside a network that is trusted. */
  insecure?: boolean;
  fetch?: typeof globalThis.fetch;
}

/** A client of one loop. */
export class Client {
  constructor(address: string | URL, loop: string, options?: ClientOptions);
  /** Chooses one of these actions; the first one, which is said, if the service is away (no answer in time, 429, 5xx). A refusal rejects with a `ServiceError`. */
  rank(actions: Action[], options?: RankOptions): Promise<RankAnswer>;
  /** A reward for an event; whether it was sent. */
  reward(eventId: string, value: number, options?: { idempotencyKey?: string }): Promise<boolean>;
  /** A deferred event was shown; whether that was sent. */
  activate(eventId: string): Promise<boolean>;
  /** A device of this loop, whose reports go to a shuffler, sealed and without the key of this client. */
  device(options: SealedOptions & { /** The address of the loop's shuffler. */ shuffler: string | URL }): Promise<Device<SealedPerson>>;
  /** A device of this loop, with the protocol and the model of the service. */
  device(options?: PersonOptions): Promise<Device<Person>>;
}

/** A report that was counted, and what became of it. */
export interface Reported {
  /** All that leaves. */
  bytes: Uint8Array;
  /** Taken, refused for good, or waiting to be sent again. */
  outcome: "taken" | "refused" | "waiting";
  /** The reason for which it waits. */
  reason: ReticentError | undefined;
}

/** A person's device with the service behind it. Nothing raw leaves it. */
export class Device<H extends BaseDevice = BaseDevice> {
  private constructor();
  readonly person: H;
  /** Fetches the newest model. */
  refresh(): Promise<void>;
  /** The action to take, by the model; the first one, marked `fallback`, if there is no model yet. The choice does not leave the device. */
  choose<A extends Features | Action>(
    context: Features,
    actions: A[],
  ): { index: number; action: A; choice: Choice | undefined; fallback: boolean };
  /** Counts a report, stores it, and sends it with all that were not sent before; `undefined` after a fallback. If it rejects, no report was made. */
  report(reward: number, choice: Choice | undefined): Promise<Reported | undefined>;
  /** Sends reports that have not arrived, as the bytes they are. Says how many were dropped unsent in the life of this installation. */
  flush(): Promise<{ taken: number; refused: number; waiting: number; dropped: number; reason?: ReticentError }>;
}
