// Storage in a folder, for Node.
//
// A state is a file `key.number.json`. An update makes the file of the next number by a hard link, which fails if another process has made it: then it
// begins again from what the other has stored. A process that was stopped for long may link a number whose file is gone already, because states
// with higher numbers exist; so it looks for these after the link. Each state names the updates that it was made by, the newest first, which tells
// an update that others have built on from one that will never be read.

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { ReticentError } from "./error.js";

/** The number of updates that a state names. */
const NAMED = 256;
const ENDING = ".json";

/** A folder that processes on this machine share. */
export function fileStorage(folder) {
  const path = (name, number) => join(folder, `${name}.${number}${ENDING}`);
  const numbers = async (name) => {
    const files = (await readdir(folder)).filter((file) => file.startsWith(`${name}.`) && file.endsWith(ENDING));
    return files.map((file) => Number(file.slice(name.length + 1, -ENDING.length))).sort((a, b) => a - b);
  };
  const newest = async (name) => {
    await makeFolder(folder);
    for (;;) {
      const number = (await numbers(name)).at(-1);
      if (number === undefined) return { number: 0, updates: [], text: undefined };
      try {
        return { number, ...JSON.parse(await readFile(path(name, number), "utf8")) };
      } catch (error) {
        // Replaced by a newer one in between.
        if (error.code !== "ENOENT") throw error;
      }
    }
  };
  const remove = (name, number) =>
    unlink(path(name, number)).catch((error) => {
      if (error.code !== "ENOENT") throw error;
    });
  /** Stores a state, unless another process has stored one since `last`. */
  const store = async (name, last, text) => {
    const number = last.number + 1;
    const update = randomUUID();
    const draft = join(folder, `${name}.${update}.draft`);
    await write(draft, JSON.stringify({ updates: [update, ...last.updates].slice(0, NAMED), text }));
    try {
      await link(draft, path(name, number));
    } catch (error) {
      if (error.code === "EEXIST") return false;
      throw error;
    } finally {
      await unlink(draft);
    }
    await synchronise(folder);
    const now = await newest(name);
    if (now.number - number >= NAMED) {
      throw new ReticentError(`folder: got ${folder}, which others change all the time; give every installation a folder of its own`);
    }
    if (!now.updates.includes(update)) {
      await remove(name, number);
      return false;
    }
    const old = (await numbers(name)).filter((other) => other < number);
    await Promise.all(old.map((other) => remove(name, other)));
    return true;
  };
  return {
    async read(key) {
      return (await newest(fileName(key))).text;
    },
    async update(key, change) {
      const name = fileName(key);
      for (;;) {
        const last = await newest(name);
        const answer = change(last.text);
        // Every failure is another process's success.
        if (answer.text === last.text || (await store(name, last, answer.text))) return answer.value;
      }
    },
  };
}

async function write(path, text) {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a folder and those that it lies in, and waits until their names are on the disk. */
async function makeFolder(folder) {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  const made = [resolve(folder)];
  while (made[0] !== resolve(first)) made.unshift(dirname(made[0]));
  for (const name of made) await synchronise(dirname(name));
}

/** Waits until the names of a folder's files are on the disk. */
async function synchronise(folder) {
  const directory = await open(folder, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** A name of letters and digits for any key. */
function fileName(key) {
  return createHash("sha256").update(key).digest("hex").slice(0, 32);
}
