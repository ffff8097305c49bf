// A person's device: it chooses by a public model, and only randomised reports leave it.

export { ReticentError } from "./error.js";
export { Choice, LIMITS } from "./base.js";
export { Person } from "./person.js";
export { SealedPerson } from "./sealed.js";
export { indexedDbStorage, memoryStorage } from "./storage.js";
