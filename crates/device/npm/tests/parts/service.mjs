// The real service, as `cargo build` made it.

import { execFileSync, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const desk = process.env.RETICENT ?? fileURLToPath(new URL("../../../../../target/debug/reticent", import.meta.url));
// The program of the service lies beside that for a desk.
export const binary = join(dirname(desk), "reticent-server");

/** The reason for which tests cannot use the service, if there is one. Under CI=true they have to. */
export function missing(config) {
  try {
    execFileSync(binary, ["serve", "--check", "--config", config], { stdio: "pipe" });
    return false;
  } catch (error) {
    if (process.env.CI === "true") throw error;
    const reason = String(error.stderr ?? error.message).trim().split("\n")[0];
    console.error(`SKIPPED: devices against the service: ${binary}: ${reason}`);
    return reason;
  }
}

/** The service with a key for devices of the loop `front`, or others. */
export async function start(config, folder, loop = "front") {
  const data = join(folder, "data");
  const service = await listening(["serve", "--config", config, "--data", data, "--listen", "127.0.0.1:0"]);
  const newKey = (loop, role) => String(execFileSync(binary, ["key", "new", "--data", data, "--loop", loop, "--role", role])).trim();
  return { ...service, key: newKey(loop, "device"), newKey };
}

/** The shuffler of a service with this key of its role. It is ready when it has heard from the service. */
export async function startShuffler(config, folder, { address: server }, key) {
  const data = join(folder, "mixed");
  const secret = join(folder, "shuffle.key");
  await writeFile(secret, key);
  const shuffler = await listening([
    ...["shuffle", "--config", config, "--data", data, "--server", server, "--key-file", secret, "--listen", "127.0.0.1:0"],
  ]);
  await until(async () => (await fetch(`${shuffler.address}/readyz`)).ok);
  return shuffler;
}

/** A process that prints its address. */
async function listening(command) {
  const running = spawn(binary, command);
  const address = await new Promise((resolve, reject) => {
    let text = "";
    const read = (part) => {
      text += part;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found) resolve(found[0]);
    };
    running.stdout.on("data", read);
    running.stderr.on("data", read);
    running.once("exit", (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
  return { address, stop: () => running.kill("SIGTERM") };
}

/** Asks again until it holds. */
export async function until(condition, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not hold within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
