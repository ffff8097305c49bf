// The client against a service that fails in every way: slow, away, overloaded, refusing.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Client, ServiceError, UnreachableError } from "../js/client.js";
import { memoryStorage } from "../js/index.js";
import { visit } from "./support.mjs";

const golden = await visit();
const servers = [];
after(() => servers.forEach((server) => server.close()));

/** A service that answers by `answer(request)`: [status, body, headers]; never, if that is undefined; with a broken connection, if it is null. */
async function service(answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const call = { method: request.method, path: request.url, headers: request.headers, body };
    requests.push(call);
    const answered = await answer(call, requests.length);
    if (answered === undefined) return;
    if (answered === null) {
      request.socket.destroy();
      return;
    }
    const [status, value, headers = {}] = answered;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  return { address: `http://127.0.0.1:${server.address().port}`, requests };
}

const actions = [{ id: "a", features: { topic: "news" } }, { id: "b", features: { topic: "sport" } }];
const problem = (status) => [status, { status, detail: "it is wrong", remedy: "repair it" }];
const ranked = ({ body }) => [
  200,
  { event_id: JSON.parse(body).event_id, action: "b", ranking: [{ id: "b", probability: 1 }], head: "7.ab.cd" },
];

test("rank, activate and reward send what the service reads", async () => {
  const { address, requests } = await service((call) => (call.path.endsWith("/rank") ? ranked(call) : [204]));
  const client = new Client(`${address}/`, "home", { key: "rt_x" });
  const answer = await client.rank(actions, { context: { age: 31 }, person: "p", defer: true });
  assert.deepEqual([answer.action, answer.fallback], ["b", false]);
  assert.equal(await client.activate(answer.eventId), true);
  assert.equal(await client.reward(answer.eventId, 0.5), true);
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path.replace(answer.eventId, "ID")}`),
    ["POST /v1/loops/home/rank", "POST /v1/loops/home/events/ID/activate", "POST /v1/loops/home/events/ID/reward"],
  );
  const [rank, , reward] = requests;
  assert.equal(rank.headers.authorization, "Bearer rt_x");
  assert.deepEqual(JSON.parse(rank.body), { event_id: answer.eventId, person: "p", context: { age: 31 }, actions, defer: true });
  assert.equal(reward.headers["reticent-head"], "7.ab.cd");
  assert.match(JSON.parse(reward.body).idempotency_key, /^[0-9a-f-]{36}$/);
});

test("what fails for a while is repeated with the same bytes", async () => {
  const { address, requests } = await service((call, count) => (count < 3 ? problem(503) : ranked(call)));
  const client = new Client(address, "home");
  assert.equal((await client.rank(actions)).fallback, false);
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map(({ body }) => body)).size, 1);
  // A reward keeps its idempotency key.
  const flaky = await service((_, count) => (count < 2 ? problem(429) : [204]));
  await new Client(flaky.address, "home").reward("event", 1);
  assert.equal(flaky.requests.length, 2);
  assert.equal(new Set(flaky.requests.map(({ body }) => body)).size, 1);
});

test("what is refused for good is not repeated", async () => {
  const { address, requests } = await service(() => problem(410));
  const error = await new Client(address, "home").reward("event", 1).catch((error) => error);
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.status, error.temporary, error.problem.remedy], [410, false, "repair it"]);
  assert.equal(requests.length, 1);
  // A remedy that the detail ends with is said once.
  const said = (detail, remedy) => new ServiceError(422, { detail, remedy }).message;
  assert.equal(said("person: got 3; expected a string", "expected a string"), "person: got 3; expected a string");
  assert.equal(said("the event has closed", "send it earlier"), "the event has closed; send it earlier");
  assert.equal(new ServiceError(500).message, "the service answers with 500");
});

test("the first action that is not excluded is the fallback, which says so, and its rewards are not sent", async () => {
  for (const answer of [() => problem(500), () => problem(503), () => problem(429), () => undefined, () => null]) {
    const { address, requests } = await service(answer);
    const client = new Client(address, "home", { timeout: 400, retries: 1 });
    const ranked = await client.rank(actions);
    assert.deepEqual([ranked.action, ranked.fallback, ranked.ranking], ["a", true, []]);
    assert.ok(ranked.reason instanceof ServiceError || ranked.reason instanceof UnreachableError);
    const sent = requests.length;
    assert.equal(await client.reward(ranked.eventId, 1), false);
    assert.equal(await client.activate(ranked.eventId), false);
    assert.equal(requests.length, sent);
    assert.equal((await client.rank(actions, { exclude: ["a"] })).action, "b");
    await assert.rejects(client.rank(actions, { exclude: ["a", "b"] }));
    assert.equal(ranked.reason.temporary, true);
  }
  // No server listens there.
  const away = await new Client("http://127.0.0.1:1", "home", { timeout: 300 }).rank(actions);
  assert.equal(away.fallback, true);
});

test("a refusal is no fallback: it rejects with what the service says, and later rewards are sent", async () => {
  for (const status of [400, 401, 403, 404, 409, 410, 422]) {
    const { address, requests } = await service(({ path }) => (path.endsWith("/rank") ? problem(status) : [204]));
    const client = new Client(address, "home", { key: "rt_wrong", timeout: 400, retries: 1 });
    const error = await client.rank(actions, { eventId: "event" }).catch((error) => error);
    assert.ok(error instanceof ServiceError && !error.temporary, String(error));
    assert.deepEqual([error.status, error.problem.remedy, requests.length], [status, "repair it", 1]);
    assert.equal(await client.reward("event", 1), true);
  }
  // What cannot be asked is not asked.
  const { address, requests } = await service(ranked);
  const client = new Client(address, "home");
  for (const bad of [undefined, [], {}, ["a"], [{ id: 1 }], [null]]) {
    await assert.rejects(client.rank(bad), /^ReticentError: actions: got what cannot be used/);
  }
  assert.equal(requests.length, 0);
});

test("an event that was answered with a fallback and then by the service is rewarded", async () => {
  let away = true;
  const { address } = await service((call) => (!call.path.endsWith("/rank") ? [204] : away ? problem(503) : ranked(call)));
  const client = new Client(address, "home", { timeout: 400, retries: 0 });
  assert.equal((await client.rank(actions, { eventId: "event" })).fallback, true);
  assert.equal(await client.reward("event", 1), false);
  away = false;
  assert.equal((await client.rank(actions, { eventId: "event" })).fallback, false);
  assert.equal(await client.reward("event", 1), true);
});

/** A service in device mode that takes every report once, unless `fails`, and whose answers are lost where `loses`. */
async function deviceService(fails = () => undefined, loses = () => false) {
  const taken = new Set();
  const running = await service((call) => {
    const failure = fails(call);
    if (failure !== undefined) return failure;
    if (call.path.endsWith("/protocol")) return [200, new TextDecoder().decode(golden.protocol)];
    if (call.path.endsWith("/model")) return [200, new TextDecoder().decode(golden.model)];
    const results = JSON.parse(call.body).reports.map(({ id, model }) => {
      if (model === 0) return { problem: { status: 410, detail: "late", remedy: "drop it" } };
      const outcome = taken.has(id) ? "duplicate" : "taken";
      taken.add(id);
      return { outcome };
    });
    return loses(call) ? null : [200, { results }];
  });
  return { ...running, taken };
}

const options = () => ({ storage: memoryStorage(), now: () => golden.seconds * 1000 });

test("a device fetches protocol and model, and sends nothing but its report", async () => {
  const { address, requests, taken } = await deviceService();
  const device = await new Client(address, "home", { key: "rt_d" }).device(options());
  const { action, choice, fallback } = device.choose(golden.context, golden.actions);
  assert.ok(!fallback && golden.actions.includes(action));
  const { bytes, outcome, reason } = await device.report(1, choice);
  assert.deepEqual([outcome, reason], ["taken", undefined]);
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ["GET /v1/loops/home/protocol", "GET /v1/loops/home/model", "POST /v1/loops/home/reports/batch"],
  );
  assert.equal(requests[2].body, `{"reports":[${new TextDecoder().decode(bytes)}]}`);
  assert.equal(taken.size, 1);
  assert.deepEqual(await device.person.unsent(), []);
});

test("offline, then online: the same bytes arrive, once", async () => {
  let online = true;
  const { address, requests, taken } = await deviceService(({ method }) => {
    if (method !== "POST") return undefined;
    return online ? undefined : problem(503);
  });
  const client = new Client(address, "home", { timeout: 500, retries: 0 });
  const shared = options();
  const device = await client.device(shared);
  online = false;
  const first = await device.report(1, device.choose(golden.context, golden.actions).choice);
  const second = await device.report(0, device.choose(golden.context, golden.actions).choice);
  // The bytes have left, and the page knows it.
  assert.deepEqual([first.outcome, first.reason.status, second.outcome], ["waiting", 503, "waiting"]);
  assert.equal((await device.person.unsent()).length, 2);
  assert.equal(taken.size, 0);
  // The page is closed and opened again.
  online = true;
  const again = await client.device(shared);
  assert.deepEqual(await again.flush(), { taken: 2, refused: 0, waiting: 0, dropped: 0 });
  const sent = JSON.parse(requests.at(-1).body).reports.map((report) => report.id);
  assert.deepEqual(sent, [first, second].map(({ bytes }) => JSON.parse(new TextDecoder().decode(bytes)).id));
  assert.deepEqual(await again.flush(), { taken: 0, refused: 0, waiting: 0, dropped: 0 });
  assert.equal((await again.person.status()).left, 1);
});

test("the service takes a report and its answer is lost: it is sent again and counted once", async () => {
  let calls = 0;
  const { address, taken } = await deviceService(
    () => undefined,
    ({ path }) => path.endsWith("/batch") && (calls += 1) === 1,
  );
  const device = await new Client(address, "home", { retries: 0 }).device(options());
  await device.report(1, device.choose(golden.context, golden.actions).choice);
  assert.deepEqual([taken.size, (await device.person.unsent()).length], [1, 1]);
  assert.deepEqual(await device.flush(), { taken: 1, refused: 0, waiting: 0, dropped: 0 });
  assert.deepEqual([taken.size, calls], [1, 2]);
});

test("a report that is refused for good is dropped and stays counted; without a model there is the first action", async () => {
  const old = new TextDecoder().decode(golden.model).replace(/"sequence":\d+/, '"sequence":0');
  const { address } = await deviceService(({ path }) => (path.endsWith("/model") ? [200, old] : undefined));
  const device = await new Client(address, "home").device(options());
  const { outcome } = await device.report(1, device.choose(golden.context, golden.actions).choice);
  assert.equal(outcome, "refused");
  assert.deepEqual(await device.person.unsent(), []);
  assert.equal((await device.person.status()).left, 2);
  const bare = await deviceService(({ path }) => (path.endsWith("/model") ? problem(503) : undefined));
  const early = await new Client(bare.address, "home", { timeout: 300, retries: 0 }).device(options());
  const { action, choice, fallback } = early.choose(golden.context, golden.actions);
  assert.deepEqual([action, choice, fallback], [golden.actions[0], undefined, true]);
  assert.equal(await early.report(1, choice), undefined);
  assert.equal((await early.person.status()).left, 3);
});

test("a service that answers with the protocol of another loop gets no report", async () => {
  const { address } = await deviceService();
  await assert.rejects(new Client(address, "shop").device(options()), /loop: got "home"; it is not the loop that was asked for/);
  await assert.rejects(new Client(address, "home").device({ ...options(), limits: { epsilon: 0.1 } }), /epsilon: got 1; expected at most 0.1/);
});

/** A storage with this many copies of the golden report that wait, each under an id of its own and followed by this much space. */
async function waiting(count, space) {
  const storage = memoryStorage();
  const { address } = await deviceService(({ method }) => (method === "POST" ? problem(503) : undefined));
  const shared = { storage, now: options().now };
  const device = await new Client(address, "home", { timeout: 300, retries: 0 }).device({ ...shared, scope: "" });
  await device.report(1, device.choose(golden.context, golden.actions).choice);
  const state = JSON.parse(await storage.read('["","home"]'));
  const [{ report, since }] = state.unsent;
  const copy = (_, index) => ({ report: report.replace(/"id":"[0-9a-f]{4}/, `"id":"${String(1000 + index)}`) + " ".repeat(space), since });
  await storage.update('["","home"]', () => ({ text: JSON.stringify({ ...state, unsent: Array.from({ length: count }, copy) }) }));
  return { ...shared, scope: "" };
}

test("requests are cut by their bytes too, and in parts where the service takes only smaller ones", async () => {
  const large = await waiting(30, 100_000);
  const plain = await deviceService();
  const device = await new Client(plain.address, "home").device(large);
  assert.deepEqual(await device.flush(), { taken: 30, refused: 0, waiting: 0, dropped: 0 });
  const sizes = plain.requests.filter(({ method }) => method === "POST").map(({ body }) => body.length);
  assert.ok(sizes.length === 3 && sizes.every((size) => size <= 1.1 * 2 ** 20), String(sizes));
  assert.equal(plain.taken.size, 30);
  // A proxy that takes half of one report only: none stays, and none keeps the others waiting.
  const small = await waiting(5, 1000);
  const limit = (most) => ({ method, body }) => (method === "POST" && body.length > most ? problem(413) : undefined);
  const narrow = await deviceService(limit(2 * 3000));
  assert.equal((await (await new Client(narrow.address, "home").device(await waiting(5, 1000))).flush()).taken, 5);
  const closed = await deviceService(limit(10));
  const other = await new Client(closed.address, "home").device(small);
  assert.deepEqual(await other.flush(), { taken: 0, refused: 5, waiting: 0, dropped: 0 });
});

test("a service whose answer is no JSON is one that is away", async () => {
  for (const foreign of ["<html>sign in</html>", "{}", "null", '{"action":1,"event_id":"x","ranking":[]}']) {
    const portal = await service(() => [200, foreign]);
    const { fallback, reason } = await new Client(portal.address, "home", { retries: 0 }).rank(actions);
    assert.ok(fallback && reason instanceof UnreachableError, foreign);
  }
  const { address } = await deviceService(({ method }) => (method === "POST" ? [200, "<html>"] : undefined));
  const device = await new Client(address, "home").device(options());
  const { outcome, reason } = await device.report(1, device.choose(golden.context, golden.actions).choice);
  assert.equal(outcome, "waiting");
  assert.match(reason.message, /no JSON/);
});

test("requests carry no cookies and no address of the page", async () => {
  const seen = [];
  const { address } = await deviceService();
  const fetch = (target, request) => {
    seen.push([request.credentials, request.referrerPolicy]);
    return globalThis.fetch(target, request);
  };
  const device = await new Client(address, "home", { fetch }).device(options());
  await device.report(1, device.choose(golden.context, golden.actions).choice);
  assert.deepEqual(seen, Array(3).fill(["omit", "no-referrer"]));
});

test("what people do does not cross a network in the clear, unless it is said to be trusted", async () => {
  for (const address of ["http://example.com", "http://10.0.0.1:8080", new URL("http://127.0.0.1.example.com")]) {
    assert.throws(() => new Client(address, "home"), /address: got http:.*in the clear; expected https/);
    assert.ok(new Client(address, "home", { insecure: true }));
  }
  for (const address of ["https://example.com", "http://127.0.0.1:8080", "http://[::1]", "http://localhost:3000/"]) assert.ok(new Client(address, "home"));
});
