/** An input, a message or a state that cannot be used, or a service that does not take what it was sent. */
export class ReticentError extends Error {}

/** The bytes of a message, or its text. */
export type Message = Uint8Array | ArrayBuffer | string;

/** Known features of a context or an action: numbers, words, lists, and objects of them. */
export type Features = null | boolean | number | bigint | string | Features[] | { [name: string]: Features | undefined };

/** Storage of an installation's count and of the reports that have not arrived yet. */
export interface Storage {
  /** The text under a key. */
  read(key: string): Promise<string | undefined>;
  /**
   * Stores the `text` of what `change` answers for the present text, as one transaction, and then resolves with its `value`. `change` may be called
   * several times; if it throws, nothing is stored.
   */
  update<T>(key: string, change: (text: string | undefined) => { text: string; value?: T }): Promise<T>;
}

/** The browser's database, which all pages and workers of an origin share. With the first count it asks the browser to keep it when space is short, unless `persist` is false. */
export function indexedDbStorage(name?: string, options?: { persist?: boolean }): Storage;

/** Memory of this page or process, for tests and simulations. */
export function memoryStorage(): Storage;

/** A choice that waits for its reward. It holds raw features and stays on the device. */
export class Choice {
  private constructor();
  /** Index of the chosen action. */
  readonly index: number;
  /** As text, for a reward that comes on another page. */
  toString(): string;
  /** Reads what `toString` wrote. */
  static parse(text: string): Choice;
}

/** Limits of a person, whatever a protocol says. */
export interface Limits {
  /** Epsilon of all reports of a period together, at most. */
  epsilon?: number;
  /** Delta of them, at most. */
  delta?: number;
  /** Reports in a period, at most. */
  reports?: number;
  /** Seconds of a period, at least. */
  period?: number;
}

/** Limits of a person who gives no others. */
export const LIMITS: Readonly<Required<Limits>>;

export interface PersonOptions {
  /** Limits of the person, whatever the protocol says; by default `LIMITS`. */
  limits?: Limits;
  /** Keeps how many reports were made; by default the browser's database. */
  storage?: Storage;
  /** The index of the person's level among `levels`; by default that of the smallest epsilon. */
  level?: number;
  /** Tells loops of the same name at different services apart. */
  scope?: string;
  /** The module or its bytes, where they cannot be fetched. */
  wasm?: WebAssembly.Module | BufferSource;
  /** The time in milliseconds after the beginning of 1970. */
  now?: () => number;
}

/** The base of all devices: they choose by the loop's model, and only randomised reports leave them. */
export interface BaseDevice {
  /** The loop's name. */
  readonly loop: string;
  /** The hash of the protocol, which reports carry. */
  readonly protocol: string;
  /** The most reports that leave this installation in a period. */
  readonly reportsPerPeriod: number;
  /** The number of the model that choices follow, if there is one. */
  readonly model: number | undefined;
  /** Choices from now on follow this model. */
  setModel(model: Message): void;
  /** A choice among the actions. What the loop's rule does not list is not looked at, and no record is refused. */
  choose(context: Features, actions: Features[]): Choice;
  /** The report of a choice, by default the last one: counted and stored before it is returned, and refused beyond the period's count. */
  report(reward: number, choice?: Choice): Promise<Uint8Array>;
  /** Reports that were counted and have not been settled, to be sent again as they are. After 7 days, and beyond 100, they are dropped. */
  unsent(): Promise<Uint8Array[]>;
  /** Forgets reports that have arrived or were refused for good. They stay counted. */
  settled(reports: Message | Message[]): Promise<void>;
  /** Reports that may still be made, when the period ends (`undefined`: never), reports that wait to be sent, and those dropped unsent so far. */
  status(): Promise<{ left: number; ends: Date | undefined; waiting: number; dropped: number }>;
  /** Gives the memory of this device back. */
  close(): void;
}

export interface Person extends BaseDevice {}

/** One person's device in one loop whose devices report to the server. */
export class Person {
  private constructor();
  /** A device from the loop's protocol. */
  static fromProtocol(protocol: Message, options: PersonOptions & { /** The name that was asked for. */ loop: string }): Promise<Person>;
  /** The levels of epsilon that the person chooses from. */
  readonly levels: number[];
  /** The index of the person's level. */
  readonly level: number;
  /** Reports from now on are made at this level, if the limits allow it. The choice of a level must not depend on what the reports would say. */
  setLevel(level: number): void;
}

/** Options of a device in a loop with a shuffler, whose batches have one level of noise. */
export type SealedOptions = Omit<PersonOptions, "level">;

export interface SealedPerson extends BaseDevice {}

/** One person's device in one loop with a shuffler: its reports are priced by the device's own accountant, counted, and sealed once. */
export class SealedPerson {
  private constructor();
  /** A device from the loop's plan of reports (`protocol`) and the answers of the server and the shuffler about sealing (`sealing`). */
  static fromSealing(
    plan: Message,
    server: Message,
    shuffler: Message,
    options: SealedOptions & { /** The name that was asked for. */ loop: string },
  ): Promise<SealedPerson>;
}

/** @deprecated Now `BaseDevice`; gone in the next version. */
export type Half = BaseDevice;
