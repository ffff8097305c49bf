// How long a report takes at d = 16, in Node and in Chromium: `node crates/device/npm/bench/report.mjs`, after `cargo xtask web`.

import { readFile } from "node:fs/promises";

import * as package_ from "../js/index.js";
import { launch } from "../tests/parts/chromium.mjs";
import { serve } from "../tests/parts/site.mjs";
import { visit } from "../tests/support.mjs";
import { measure } from "./visits.js";

const golden = await visit();

function print(where, { load, choose, report }) {
  console.log(`${where}: module loaded and protocol read ${load.toFixed(1)} ms`);
  console.log(`${where}: choice among 20 actions at d = 16 ${choose.toFixed(4)} ms`);
  console.log(`${where}: report at d = 16 ${report.toFixed(4)} ms (required 1, goal 0.2)`);
}

print("Node", await measure(package_, golden));
const { browser, missing } = await launch();
if (missing) {
  console.log(missing);
} else {
  const site = await serve({
    "/": ["text/html", "<!doctype html><title>measurement</title>"],
    "/visits.js": ["text/javascript", await readFile(new URL("./visits.js", import.meta.url))],
    "/protocol.json": ["application/json", golden.protocol],
    "/model.json": ["application/json", golden.model],
  });
  const page = await browser.newPage();
  await page.goto(site.address);
  const { context, actions } = golden;
  const measured = await page.evaluate(async ({ context, actions }) => {
    const [reticent, { measure }] = await Promise.all([import("/js/index.js"), import("/visits.js")]);
    const bytes = (name) => fetch(name).then((response) => response.arrayBuffer());
    return measure(reticent, { protocol: await bytes("/protocol.json"), model: await bytes("/model.json"), context, actions });
  }, { context, actions });
  print("Chromium", measured);
  await browser.close();
  site.close();
}
