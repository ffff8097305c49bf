// The front page: the visitor's device chooses the first story, and shows the body of the request that leaves.

import { Client } from "./reticent/client.js";
import { LIMITS } from "./reticent/index.js";
import { stories } from "./stories.js";

const NOTHING = "nothing";
const place = (id) => document.getElementById(id);
const { service, key } = await (await fetch("config.json")).json();
const client = new Client(service, "front", { key });
const device = await client.device();
/** Levels that may be chosen: those beyond the limits of a device would be refused. */
const levels = device.person.levels.filter((epsilon) => epsilon <= LIMITS.epsilon);
let chosen = remembered();
if (chosen !== NOTHING) device.person.setLevel(device.person.levels.indexOf(chosen));

/**
 * The visitor's choice on an earlier visit, by its epsilon: the page's levels may have changed since. Then it is the largest that is not above it, and
 * nothing if there is none.
 */
function remembered() {
  const stored = localStorage.getItem("epsilon");
  if (stored === null) return Math.min(...levels);
  const allowed = levels.filter((epsilon) => epsilon <= Number(stored));
  return stored === NOTHING || allowed.length === 0 ? NOTHING : Math.max(...allowed);
}

async function choose(epsilon) {
  if (epsilon !== NOTHING) device.person.setLevel(device.person.levels.indexOf(epsilon));
  chosen = epsilon;
  localStorage.setItem("epsilon", String(epsilon));
  if (epsilon !== NOTHING) return;
  // Reports that have not arrived do not leave any more.
  const waiting = await device.person.unsent();
  await device.person.settled(waiting);
  if (waiting.length > 0) say(`${waiting.length} reports that had not arrived were thrown away.`);
}

function context() {
  const hour = new Date().getHours();
  const daytime = hour < 11 ? "morning" : hour < 18 ? "day" : "evening";
  return { daytime, device: matchMedia("(pointer: coarse)").matches ? "phone" : "computer" };
}

function element(tag, text, properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text }, properties);
}

/** The best success rate of an attacker's coin-flip guess, given the reports; rounded up, for a bound. Delta adds less than that. */
const best = (epsilon) => `${Math.ceil(1e4 / (1 + Math.exp(-epsilon)) + 0.01) / 100}\u00a0%`;

function showLevels() {
  const most = device.person.reportsPerPeriod;
  const options = [
    [NOTHING, "Nothing", "The page still chooses for you; it learns nothing from you."],
    ...levels.map((epsilon) => [
      epsilon,
      `Reports with ε = ${epsilon}`,
      `If all ${most} reports of a period are made so: who guesses at even odds is right at most ${best(epsilon)} of the time.`,
    ]),
  ];
  for (const [value, name, words] of options) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "level", value, checked: value === chosen });
    input.addEventListener("change", () => choose(value));
    label.append(input, element("span", name), element("small", words));
    place("levels").append(label);
  }
}

async function showCount() {
  const { left, ends, waiting, dropped } = await device.person.status();
  const until = ends ? ` until ${ends.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" })}` : "";
  const words = [`${left} of ${device.person.reportsPerPeriod} reports may still leave this installation${until}.`];
  if (waiting > 0) words.push(`${waiting} wait to be sent again.`);
  if (dropped > 0) words.push(`${dropped} never arrived and were thrown away.`);
  place("left").textContent = words.join(" ");
}

function showStories() {
  const { index, choice, fallback } = device.choose(context(), stories.map(({ topic }) => ({ topic })));
  const first = stories[index];
  const rest = stories.filter((story) => story !== first);
  place("stories").replaceChildren(
    ...[first, ...rest].map((story) => {
      const article = element("article", "", { className: story === first ? "first" : "" });
      article.append(element("div", story.topic, { className: "topic" }), element("h3", story.title), element("p", story.text));
      if (story === first) {
        const read = element("button", "Read the story");
        const skip = element("button", "Not for me", { className: "quiet" });
        const answer = (reward) => async () => {
          read.disabled = skip.disabled = true;
          await send(reward, fallback ? undefined : choice);
          showStories();
        };
        read.addEventListener("click", answer(1));
        skip.addEventListener("click", answer(0));
        article.append(read, skip);
      }
      return article;
    }),
  );
}

async function send(reward, choice) {
  if (chosen === NOTHING || choice === undefined) {
    say(chosen === NOTHING ? "Nothing was reported: you chose so." : "Nothing was reported: there is no model yet.");
    return;
  }
  try {
    const { waiting } = await device.person.status();
    const { bytes, outcome, reason } = await device.report(reward, choice);
    const body = `{"reports":[${new TextDecoder().decode(bytes)}]}`;
    const beside = waiting > 0 ? ` Beside them go ${waiting} earlier reports that had not arrived.` : "";
    const became = {
      taken: "The server has them:",
      refused: "They have left this device, and the server did not want them:",
      waiting: `They may have left this device, and are sent again later (${reason?.message}):`,
    };
    const length = new TextEncoder().encode(body).length;
    say(`${length} bytes, made from your answer and random numbers.${beside} ${became[outcome]}`, body);
  } catch (error) {
    // Before a report is stored nothing is sent.
    say(`No report was made: ${error.message}`);
  }
  await showCount();
}

function say(words, bytes) {
  place("leaves").textContent = words;
  place("bytes").hidden = bytes === undefined;
  place("bytes").textContent = bytes ?? "";
}

showLevels();
await showCount();
showStories();
// Reports of an earlier visit that have not arrived, unless nothing may leave now.
if (chosen !== NOTHING) {
  await device.flush();
  await showCount();
}
