// The errors of this package: what is wrong, and what to do about it.

/** An input, a message or a state that cannot be used, or a service that does not take what it was sent. */
export class ReticentError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "ReticentError";
  }
}
