// How long a report takes at d = 16: `node crates/web/bench/report.mjs`, after `cargo xtask web`. In a page it is the same module in the same engine.
//
// A visit is a choice among 20 actions, a report, and its count in memory. Printed are medians over rounds of many visits.

import { memoryStorage, Person } from "../js/index.js";
import { visit } from "../tests/support.mjs";

const { protocol, model, context, actions } = await visit();
const twenty = Array.from({ length: 20 }, (_, i) => actions[i % actions.length]);
const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const start = performance.now();
// Every visit is one of another period, so that none is refused.
let now = Date.now();
const person = await Person.fromProtocol(protocol, { storage: memoryStorage(), level: 1, now: () => now });
person.setModel(model);
const loaded = performance.now() - start;

const rounds = { choose: [], report: [] };
for (let round = 0; round < 21; round += 1) {
  const visits = 200;
  let choosing = 0;
  let reporting = 0;
  for (let i = 0; i < visits; i += 1) {
    const begin = performance.now();
    person.choose(context, twenty);
    const chosen = performance.now();
    const report = await person.report(i % 2);
    reporting += performance.now() - chosen;
    choosing += chosen - begin;
    await person.settled(report);
    now += 31 * 86_400_000;
  }
  rounds.choose.push(choosing / visits);
  rounds.report.push(reporting / visits);
}
console.log(`module loaded and protocol read: ${loaded.toFixed(1)} ms`);
console.log(`choice among 20 actions at d = 16: ${median(rounds.choose).toFixed(4)} ms`);
console.log(`report at d = 16: ${median(rounds.report).toFixed(4)} ms (required 1, goal 0.2)`);
