// The reports that this package makes are attacked as Rust's are: by `reticent audit`, against the certificate of their protocol.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Person } from "../js/index.js";
import { desk, missing, start } from "./parts/service.mjs";

const LOOPS = `
[loop.front]
trust = "device"
privacy = { epsilon = 4.0, delta = 1e-6, visits = 1, per = "ever" }
device = { levels = [1.0, 4.0] }
[loop.front.action]
topic = { categories = ["news", "sport"] }
`;

/** Reports of each of the two people. */
const REPORTS = 6000;

const folder = await mkdtemp(join(tmpdir(), "reticent-attack-"));
const config = join(folder, "loops.toml");
await writeFile(config, LOOPS);
let service;
after(async () => {
  service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A storage in which every report is the first one of a new installation. */
const alwaysNew = { read: async () => undefined, update: async (_, change) => change(undefined).value };

test("reports keep their certificate, and a page that adds less noise than it says is caught", { skip: missing(config), timeout: 120_000 }, async () => {
  service = await start(config, folder);
  const get = async (path) => (await fetch(`${service.address}/v1/loops/front/${path}`)).text();
  const [protocol, model] = [await get("protocol"), await get("model")];
  const path = (name) => join(folder, name);
  await writeFile(path("protocol.json"), protocol);
  const reports = async (level, topic, reward) => {
    const person = await Person.fromProtocol(protocol, { loop: "front", level, storage: alwaysNew });
    person.setModel(model);
    const lines = [];
    while (lines.length < REPORTS) {
      person.choose({}, [{ topic }]);
      lines.push(new TextDecoder().decode(await person.report(reward)));
    }
    person.close();
    return lines;
  };
  /** The verdict on reports of two people who differ in everything, at a false-alarm rate of 1e-6. */
  const attacked = async (level, change) => {
    const pair = [await reports(level, "news", 1), await reports(level, "sport", 0)];
    const names = ["first", "second"].map(path);
    await Promise.all(pair.map((lines, index) => writeFile(names[index], `${lines.map(change).join("\n")}\n`)));
    const options = ["--json", "audit", "--protocol", path("protocol.json"), "--confidence", "0.999999", "--reports", ...names];
    try {
      return JSON.parse(execFileSync(desk, options, { stdio: "pipe" })).audits[0];
    } catch (error) {
      if (error.status !== 1) throw error;
      return JSON.parse(error.stdout).audits[0];
    }
  };
  const sound = await attacked(0, (line) => line);
  assert.equal(sound.verdict, "consistent", JSON.stringify(sound));
  assert.ok(sound.certified.epsilon > 0.99 && sound.certified.epsilon <= 1, "the certificate of the first level");
  // Planted: the noise of epsilon 4 under the name of epsilon 1.
  const planted = await attacked(1, (line) => line.replace('"level":1', '"level":0'));
  assert.equal(planted.verdict, "violated", JSON.stringify(planted));
});
