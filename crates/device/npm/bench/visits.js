// How long visits take, in any engine: a choice among 20 actions, a report, and its count in memory. Medians over rounds of many visits, in milliseconds.

const ROUNDS = 21;
const VISITS = 200;

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

export async function measure({ memoryStorage, Person }, { protocol, model, context, actions }) {
  const twenty = Array.from({ length: 20 }, (_, i) => actions[i % actions.length]);
  const start = performance.now();
  // Every visit is one of another period, so that none is refused.
  let now = Date.now();
  const person = await Person.fromProtocol(protocol, { loop: "home", storage: memoryStorage(), level: 1, now: () => now });
  person.setModel(model);
  const load = performance.now() - start;
  const rounds = { choose: [], report: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    let choose = 0;
    let report = 0;
    for (let i = 0; i < VISITS; i += 1) {
      const begin = performance.now();
      person.choose(context, twenty);
      const chosen = performance.now();
      const bytes = await person.report(i % 2);
      report += performance.now() - chosen;
      choose += chosen - begin;
      await person.settled(bytes);
      now += 31 * 86_400_000;
    }
    rounds.choose.push(choose / VISITS);
    rounds.report.push(report / VISITS);
  }
  return { load, choose: median(rounds.choose), report: median(rounds.report) };
}
