// The one error of this package: what is wrong, and what to do about it.

/** An input, a message or a state that cannot be used. Nothing was changed and nothing was sent. */
export class ReticentError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "ReticentError";
  }
}
