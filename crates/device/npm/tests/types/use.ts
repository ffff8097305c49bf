// How the package is used from TypeScript: it must compile, and its mistakes must not.

import { Choice, indexedDbStorage, memoryStorage, Person, ReticentError, type Storage } from "reticent";
import { Client, ServiceError, type Action } from "reticent/client";
import { fileStorage } from "reticent/node";
import { SealedPerson } from "reticent/sealed";
const storage: Storage = Math.abs(1) ? memoryStorage() : indexedDbStorage();
const person = await Person.fromProtocol(new Uint8Array(), { loop: "home", limits: { epsilon: 1 }, storage, level: 0, wasm: new Uint8Array() });
person.setModel("{}");
const choice: Choice = person.choose({ age: 31, tags: ["a", null] }, [{ topic: "news" }]);
const bytes: Uint8Array = await person.report(1, Choice.parse(String(choice)));
await person.settled([bytes]);
const { left, ends } = await person.status();
const n: number = left; const d: Date | undefined = ends;
const actions: Action[] = [{ id: "a", features: { x: 1 } }];
const client = new Client("http://x", "home", { key: "k" });
const answer = await client.rank(actions, { person: "p" });
if (answer.fallback && answer.reason instanceof ServiceError) console.log(answer.reason.status, answer.reason.temporary);
const device = await client.device({ storage: fileStorage("f") });
const picked = device.choose({}, actions);
const id: string = picked.action.id;
const reported = await device.report(1, picked.choice);
if (reported?.outcome === "waiting") console.log(reported.reason?.message, reported.bytes.length);
const plain = device.choose({}, [{ topic: "a" }]);
const topic: string = plain.action.topic;
const levels: number[] = device.person.levels;
const through = await client.device({ shuffler: "https://mix.example", storage, limits: { epsilon: 2 } });
const sealed: SealedPerson = through.person;
const hash: string = sealed.protocol;
const mixed = await SealedPerson.fromSealing(new Uint8Array(), "{}", "{}", { loop: "home", storage });
await mixed.settled(await mixed.report(1, mixed.choose({}, [{ topic: "news" }])));
// @ts-expect-error behind a shuffler there is no level to choose
await client.device({ shuffler: "https://mix.example", level: 0 });
// @ts-expect-error a level is a number
person.setLevel("1");
// @ts-expect-error the loop that was asked for is named
await Person.fromProtocol(new Uint8Array());
// @ts-expect-error a device is made from a protocol
new Person();
export { n, d, id, topic, levels, ReticentError };
