// The real service, as `cargo build` made it.

import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const binary = process.env.RETICENT ?? fileURLToPath(new URL("../../../../target/debug/reticent", import.meta.url));

/** Why the service cannot be tested with, if it cannot. Under CI=true it has to. */
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

/** The service with a key for devices of the loop `front`. */
export async function start(config, folder) {
  const data = join(folder, "data");
  const service = spawn(binary, ["serve", "--config", config, "--data", data, "--listen", "127.0.0.1:0"]);
  const address = await new Promise((resolve, reject) => {
    let text = "";
    const read = (part) => {
      text += part;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found) resolve(found[0]);
    };
    service.stdout.on("data", read);
    service.stderr.on("data", read);
    service.once("exit", (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
  const key = execFileSync(binary, ["key", "new", "--data", data, "--loop", "front", "--role", "device"]);
  return { address, key: String(key).trim(), stop: () => service.kill("SIGTERM") };
}
