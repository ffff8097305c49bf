// The front page: the visitor's device chooses the first story, and shows exactly the bytes that leave.

import { Client } from "./reticent/client.js";
import { stories } from "./stories.js";

const NOTHING = "nothing";
const place = (id) => document.getElementById(id);
const { service, key } = await (await fetch("config.json")).json();
const client = new Client(service, "front", { key });
const device = await client.device({ level: remembered() });

/** The level that the visitor chose on an earlier visit. */
function remembered() {
  const level = localStorage.getItem("level");
  return level === null || level === NOTHING ? undefined : Number(level);
}

function context() {
  const hour = new Date().getHours();
  const daytime = hour < 11 ? "morning" : hour < 18 ? "day" : "evening";
  return { daytime, device: matchMedia("(pointer: coarse)").matches ? "phone" : "computer" };
}

function element(tag, text, properties = {}) {
  return Object.assign(document.createElement(tag), { textContent: text }, properties);
}

/** How often an attacker is right at best who would be right half of the time without the reports; rounded up, for a bound. Delta adds less than that. */
const best = (epsilon) => `${Math.ceil(1e4 / (1 + Math.exp(-epsilon)) + 0.01) / 100}\u00a0%`;

function showLevels() {
  const { levels } = device.person;
  const chosen = localStorage.getItem("level") ?? String(device.person.level);
  const most = device.person.reportsPerPeriod;
  const options = [
    [NOTHING, "Nothing", "The page still chooses for you; it learns nothing from you."],
    ...levels.map((epsilon, level) => [
      String(level),
      `Reports with ε = ${epsilon}`,
      `If all ${most} reports of a period are made so: who guesses at even odds is right at most ${best(epsilon)} of the time.`,
    ]),
  ];
  for (const [value, name, words] of options) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "level", value, checked: value === chosen });
    input.addEventListener("change", () => {
      localStorage.setItem("level", value);
      if (value !== NOTHING) device.person.setLevel(Number(value));
    });
    label.append(input, element("span", name), element("small", words));
    place("levels").append(label);
  }
}

async function showCount() {
  const { left, ends } = await device.person.status();
  const until = ends ? ` until ${ends.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" })}` : "";
  place("left").textContent = `${left} of ${device.person.reportsPerPeriod} reports may still leave this installation${until}.`;
  return left;
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
  const level = document.querySelector("input[name=level]:checked")?.value;
  if (level === NOTHING || choice === undefined) {
    say(level === NOTHING ? "Nothing has left this device: you chose so." : "Nothing has left this device: there is no model yet.");
    return;
  }
  try {
    const bytes = await device.report(reward, choice);
    const waiting = (await device.person.unsent()).length;
    const where = waiting === 0 ? "They are all that has left this device:" : `They wait here until the server can be reached (${waiting}):`;
    say(`${bytes.length} bytes, made from your answer and random numbers. ${where}`, new TextDecoder().decode(bytes));
  } catch (error) {
    say(`Nothing has left this device: ${error.message}`);
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
// Reports of an earlier visit that have not arrived.
await device.flush();
await showCount();
