// Debian's Chromium, driven by playwright-core; both are installed by `cargo xtask web`.

import { access } from "node:fs/promises";

/** A browser, or why there is none. Under CI=true there has to be one. */
export async function launch() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  try {
    await access(executablePath);
    const { chromium } = await import("playwright-core");
    return { browser: await chromium.launch({ executablePath, args: ["--no-sandbox"] }) };
  } catch (error) {
    if (process.env.CI === "true") throw error;
    return { missing: `SKIPPED: Chromium: ${error.message.split("\n")[0]}` };
  }
}
