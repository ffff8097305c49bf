// The package in Chromium: a page, a worker, and two tabs that share one count.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch } from "./parts/chromium.mjs";
import { serve } from "./parts/site.mjs";
import { visit } from "./support.mjs";

const golden = await visit();
const { browser, missing } = await launch();
if (missing) console.error(missing);
const options = { skip: missing ?? false };

const pages = {
  "/": ["text/html", "<!doctype html><title>test</title>"],
  "/protocol.json": ["application/json", golden.protocol],
  "/model.json": ["application/json", golden.model],
  "/worker.js": [
    "text/javascript",
    `import { visitUntilRefused } from "./visits.js";
     onmessage = async ({ data }) => postMessage(await visitUntilRefused(data));`,
  ],
  // Visits by a device on the browser's database, until there are `most` reports or one is refused.
  "/visits.js": [
    "text/javascript",
    `import { Person } from "./js/index.js";
     export async function device() {
       const bytes = (name) => fetch(name).then((response) => response.arrayBuffer());
       const person = await Person.fromProtocol(await bytes("/protocol.json"), { loop: "home" });
       person.setModel(await bytes("/model.json"));
       return person;
     }
     export async function visitUntilRefused(most) {
       const person = await device();
       const ids = [];
       while (ids.length < most) {
         person.choose(${JSON.stringify(golden.context)}, ${JSON.stringify(golden.actions)});
         try {
           ids.push(JSON.parse(new TextDecoder().decode(await person.report(1))).id);
         } catch (error) {
           return { ids, refused: error.message };
         }
       }
       return { ids };
     }`,
  ],
};

let site;
before(async () => {
  site = await serve(pages);
});
after(async () => {
  await browser?.close();
  site.close();
});

const tab = async (context) => {
  const page = await context.newPage();
  await page.goto(site.address);
  return page;
};
const visits = (page, most) => page.evaluate(async (most) => (await import("/visits.js")).visitUntilRefused(most), most);

test("the golden visit gives the bytes that Rust gives", options, async () => {
  const context = await browser.newContext();
  const page = await tab(context);
  const { level, seconds, reward, actions } = golden;
  const visited = await page.evaluate(async ({ level, seconds, reward, context, actions }) => {
    // The keys of the golden visit, one after the other.
    let number = 0;
    crypto.getRandomValues = (view) => {
      view.forEach((_, place) => (view[place] = (31 * number + 7 * place + 1) % 256));
      number += 1;
      return view;
    };
    const { memoryStorage, Person } = await import("/js/index.js");
    const text = (name) => fetch(name).then((response) => response.text());
    const options = { loop: "home", storage: memoryStorage(), level, now: () => seconds * 1000 };
    const person = await Person.fromProtocol(await text("/protocol.json"), options);
    person.setModel(await text("/model.json"));
    const { index } = person.choose(context, actions);
    return { index, report: new TextDecoder().decode(await person.report(reward)) };
  }, { level, seconds, reward, context: golden.context, actions });
  assert.equal(visited.index, golden.index);
  assert.equal(visited.report, new TextDecoder().decode(golden.report));
  await context.close();
});

test("two tabs and a worker that report at once share one count", options, async () => {
  const context = await browser.newContext();
  const [one, two] = await Promise.all([tab(context), tab(context)]);
  const inWorker = one.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker("/worker.js", { type: "module" });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(10);
      }),
  );
  const results = await Promise.all([visits(one, 10), visits(two, 10), inWorker]);
  const ids = results.flatMap(({ ids }) => ids);
  assert.equal(ids.length, 3);
  assert.equal(new Set(ids).size, 3);
  for (const { refused } of results) assert.match(refused, /reports left: got 0/);
  // A page that is closed and opened again finds the count and the reports that were never sent.
  await Promise.all([one.close(), two.close()]);
  const again = await tab(context);
  const found = await again.evaluate(async () => {
    const person = await (await import("/visits.js")).device();
    const unsent = (await person.unsent()).map((bytes) => JSON.parse(new TextDecoder().decode(bytes)).id);
    return { left: (await person.status()).left, unsent };
  });
  assert.equal(found.left, 0);
  assert.deepEqual(found.unsent.sort(), ids.sort());
  await context.close();
});

test("a database that the browser closes is opened again, and keeps its count", options, async () => {
  const context = await browser.newContext();
  const page = await tab(context);
  const left = await page.evaluate(async () => {
    // The browser says so when it closes a database by itself, and calls on it fail from then on.
    const opened = [];
    const open = IDBFactory.prototype.open;
    IDBFactory.prototype.open = function (...given) {
      const request = open.apply(this, given);
      request.addEventListener("success", () => opened.push(request.result));
      return request;
    };
    const person = await (await import("/visits.js")).device();
    const visit = () => {
      person.choose({}, [{ topic: "news" }, { topic: "sport" }]);
      return person.report(1);
    };
    await visit();
    opened[0].close();
    opened[0].dispatchEvent(new Event("close"));
    await visit();
    return { left: (await person.status()).left, opened: opened.length };
  });
  assert.deepEqual(left, { left: 1, opened: 2 });
  await context.close();
});

test("what a browser would add to a request by itself stays with it", options, async () => {
  const context = await browser.newContext();
  await context.addCookies([{ name: "who", value: "me", url: site.address }]);
  const page = await tab(context);
  await page.evaluate(async () => {
    const { Client } = await import("/js/client.js");
    await new Client(location.origin, "home", { retries: 0 }).device().catch(() => {});
  });
  const asked = site.requests.filter(({ url }) => url.startsWith("/v1/"));
  assert.ok(asked.length > 0);
  for (const { headers } of asked) assert.deepEqual([headers.cookie, headers.referer], [undefined, undefined]);
  await context.close();
});

test("a private window, and storage that was cleared, are a new installation", options, async () => {
  const context = await browser.newContext();
  const page = await tab(context);
  assert.equal((await visits(page, 10)).ids.length, 3);
  const other = await browser.newContext();
  assert.equal((await visits(await tab(other), 10)).ids.length, 3);
  await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const request = indexedDB.deleteDatabase("reticent");
        request.onsuccess = resolve;
        request.onerror = reject;
      }),
  );
  assert.equal((await visits(await tab(context), 10)).ids.length, 3);
  await Promise.all([context.close(), other.close()]);
});

test("a page that is closed in the middle of reports loses none that it gave out and makes none beyond the count", options, async () => {
  const context = await browser.newContext();
  for (let round = 0; round < 3; round += 1) {
    const page = await tab(context);
    const given = [];
    await page.exposeFunction("given", (id) => given.push(id));
    page.evaluate(async () => {
      const { device } = await import("/visits.js");
      const person = await device();
      for (;;) {
        person.choose({}, [{ topic: "news" }, { topic: "sport" }]);
        const report = await person.report(1);
        window.given(JSON.parse(new TextDecoder().decode(report)).id);
      }
    }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20 * round));
    await page.close();
    const checked = await tab(context);
    const { left, unsent } = await checked.evaluate(async () => {
      const person = await (await import("/visits.js")).device();
      const unsent = (await person.unsent()).map((bytes) => JSON.parse(new TextDecoder().decode(bytes)).id);
      return { left: (await person.status()).left, unsent };
    });
    assert.equal(left, 3 - unsent.length);
    assert.ok(given.every((id) => unsent.includes(id)), "what was given out was stored first");
    await checked.close();
  }
  await context.close();
});
