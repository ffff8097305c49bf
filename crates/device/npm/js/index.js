// A person's half on their own device: it chooses by a public model, and only randomised reports leave it.

export { ReticentError } from "./error.js";
export { Choice, LIMITS } from "./half.js";
export { Person } from "./person.js";
export { indexedDbStorage, memoryStorage } from "./storage.js";
