import type { Storage } from "./index.js";

/** A folder that processes on this machine share. */
export function fileStorage(folder: string): Storage;
