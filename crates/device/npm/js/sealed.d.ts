// Another name of the same, for one version.

export { SealedPerson, type SealedOptions } from "./index.js";
