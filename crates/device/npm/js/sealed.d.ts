import type { Half, Message, PersonOptions } from "./index.js";

/** Options of a half in a loop with a shuffler, whose batches have one level of noise. */
export type SealedOptions = Omit<PersonOptions, "level">;

export interface SealedPerson extends Half {}

/** One person's half of one loop with a shuffler: its reports are priced by the device's own accountant, counted, and sealed once. */
export class SealedPerson {
  private constructor();
  /** A person's half from the loop's plan of reports (`protocol`) and what the server and the shuffler answer about sealing (`sealing`). */
  static fromSealing(
    plan: Message,
    server: Message,
    shuffler: Message,
    options: SealedOptions & { /** The name that was asked for. */ loop: string },
  ): Promise<SealedPerson>;
}
