// Simulated visitors of a loop of devices, in Node and in a page alike: they teach the service which topic is liked, and it never sees a raw reward.

export const TOPICS = ["news", "sport", "music"];
const ROUNDS = 8;
const VISITORS = 250;

/** The shares of visitors of each round who were shown the liked topic. Every report is sent twice and must count once. */
export async function teach({ address, key, Person, memoryStorage }) {
  const actions = TOPICS.map((topic) => ({ topic }));
  const authorization = `Bearer ${key}`;
  const call = (path, more = {}) => fetch(`${address}/v1/loops/front/${path}`, { ...more, headers: { authorization, ...more.headers } });
  const get = async (path) => (await call(path)).text();
  const send = async (body) => {
    const headers = { "content-type": "application/json" };
    const { results } = await (await call("reports/batch", { method: "POST", headers, body })).json();
    return [...new Set(results.map(({ outcome }) => outcome))].join();
  };
  // Chance without a seed: by 0.9 and 0.1 over 2,000 visitors at epsilon = 8 the wrong topic wins less than once in 10^6 runs.
  const likes = (topic) => crypto.getRandomValues(new Uint8Array(1))[0] < (topic === "sport" ? 230 : 26);
  const protocol = await get("protocol");
  let model = await get("model");
  const shares = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const reports = [];
    let liked = 0;
    for (let visitor = 0; visitor < VISITORS; visitor += 1) {
      const person = await Person.fromProtocol(protocol, { loop: "front", storage: memoryStorage() });
      person.setModel(model);
      const { topic } = actions[person.choose({}, actions).index];
      liked += topic === "sport";
      reports.push(new TextDecoder().decode(await person.report(likes(topic) ? 1 : 0)));
      person.close();
    }
    shares.push(liked / VISITORS);
    const body = `{"reports":[${reports.join(",")}]}`;
    const outcomes = [await send(body), await send(body)].join(", ");
    if (outcomes !== "taken, duplicate") throw new Error(`the same reports twice: ${outcomes}`);
    // The next model is made by the clock.
    const before = model;
    while ((model = await get("model")) === before) await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return shares;
}
