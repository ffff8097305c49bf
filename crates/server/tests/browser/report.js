// Runs a small experiment and opens its report with a real browser: values under the pointer, lines that are hidden, zoom by pointer and by touch, wide and narrow, light and dark, printed.
//
//   cargo xtask browser
//   cd crates/server/tests/browser && npm ci && node report.js [--screenshots FOLDER]
//
// RETICENT names the binary (default: target/debug/reticent), CHROMIUM the browser (default: /usr/bin/chromium).
import { chromium } from "playwright-core";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";
import assert from "node:assert/strict";

const at = process.argv.indexOf("--screenshots");
const pictures = at < 0 ? undefined : process.argv[at + 1];
const root = fileURLToPath(new URL("../../../../", import.meta.url));
const reticent = process.env.RETICENT ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/reticent");
if (pictures) mkdirSync(pictures, { recursive: true });

const folder = mkdtempSync(join(tmpdir(), "reticent-report-"));
writeFileSync(join(folder, "grid.toml"), `
name = "names of everywhere: Δοκιμή, проверка, 試験"
rounds = 300
trials = 8
environment = { kind = "sphere", dimension = 3, arms = 5 }
[[algorithm]]
name = "a reference with a name that says all there is to say of it: which rule it follows, its trust model, where it was published, and that nothing of it is private"
kind = "linucb"
[[algorithm]]
name = "round"
kind = "linucb"
[[algorithm]]
name = "central"
kind = "joint"
privacy = { epsilon = [0.5, 1, 2, 4], delta = 1e-6 }
[[algorithm]]
name = "local"
kind = "local"
privacy = { epsilon = [0.5, 1, 2, 4], delta = 1e-6 }
`);
execFileSync(reticent, ["run", "grid.toml", "--out", "out"], { cwd: folder });
const address = pathToFileURL(join(folder, "out/report.html")).href;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [width, colorScheme] of [[1200, "light"], [1200, "dark"], [400, "light"], [400, "dark"]]) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => request.url() === address || complaints.push(request.url()));
  await page.goto(address);

  // The first screen says which learner, how well, under which guarantee, and what failed.
  const answers = page.locator("dl.answers");
  const box = await answers.boundingBox();
  assert.ok(box.y + box.height < 900, `the answers end at ${box.y + box.height} of 900`);
  const words = await answers.innerText();
  for (const word of ["Best with a guarantee", "Best without", "Failures and warnings", "differentially private", "regret"]) assert.ok(words.includes(word), `${word}: ${words}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `the page is ${wide} wide`);
  // Text of a figure is not smaller than a reader can read: a narrow page scrolls the figure.
  const letters = await page.locator("section.figure svg").first().evaluate((svg) => Math.min(...[...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect().height)));
  assert.ok(letters >= 8, `the smallest text is ${letters} high`);
  // A name has one line in the table.
  const rows = await page.locator("table").first().evaluate((table) => [...table.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height));
  if (width === 1200) assert.ok(Math.max(...rows.slice(1)) < 45, `rows of ${rows}`);
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(paper, colorScheme === "dark" ? "rgb(22, 24, 28)" : "rgb(255, 255, 255)");
  if (pictures) await page.screenshot({ path: join(pictures, `report-${width}-${colorScheme}.png`), fullPage: true });

  // The second figure has panels. A point of its first line is read at the place where it is drawn.
  const figure = page.locator("section.figure").nth(1);
  await figure.scrollIntoViewIfNeeded();
  const where = () => figure.evaluate((section) => {
    // A narrow page scrolls the figure: its second panel is at the right.
    section.querySelector("svg").scrollIntoView({ block: "center", inline: "end" });
    const { panels, x, y } = JSON.parse(section.querySelector("script").textContent);
    const [left, top, right, bottom] = panels[1].box;
    const { name, points, colour } = panels[1].series[0];
    const place = (axis, value, from, to) => from + ((axis.log ? Math.log10(value) : value) - axis.from) / (axis.to - axis.from) * (to - from);
    const last = points.at(-1);
    const drawn = new DOMPoint(place(x, last[0], left, right), place(y, last[1], bottom, top));
    const { x: across, y: down } = drawn.matrixTransform(section.querySelector("svg").getScreenCTM());
    return { name, across, down, round: last[0], colour, panels: panels.length };
  });
  const target = await where();
  assert.equal(target.panels, 2);
  await page.mouse.move(target.across, target.down);
  const read = await figure.locator("output").innerText();
  assert.ok(read.includes(`round ${target.round}`) && read.includes("regret"), read);

  // A name in the legend hides its lines and nothing else, and shows them again: not the axes, which may have the same colour.
  const visible = () => figure.evaluate((section) => {
    const count = (selector) => [...section.querySelectorAll(selector)].filter((drawn) => drawn.getClientRects().length > 0).length;
    return { own: count("[data-series='0'] polyline"), others: count("[data-series]:not([data-series='0']) polyline"), axes: count("[data-axes] *") };
  });
  const before = await visible();
  assert.ok(before.own >= 2 && before.others >= 2 && before.axes > 20, JSON.stringify(before));
  const button = (name) => figure.locator(`svg [role=button][aria-label="${name}"]`);
  for (const [name, number] of await figure.evaluate((section) => JSON.parse(section.querySelector("script").textContent).legend.map(({ name }, number) => [name, number]))) {
    const legend = button(name);
    await legend.click();
    const after = await visible();
    assert.equal(after.axes, before.axes, `the axes without ${name}`);
    if (number === 0) assert.deepEqual(after, { ...before, own: 0 });
    else assert.ok(after.own === before.own && after.others < before.others, name);
    assert.equal(await legend.getAttribute("aria-pressed"), "false");
    await legend.press("Enter");
    assert.deepEqual(await visible(), before);
  }

  // A long name is whole: in lines that fit, and under the pointer. An axis that is called as a line is no button.
  const long = figure.locator("svg [role=button]", { has: page.locator("title", { hasText: "a reference with a name" }) });
  const whole_name = await long.getAttribute("aria-label");
  assert.ok(whole_name.endsWith("nothing of it is private"), whole_name);
  const [own, sheet] = [await long.locator("rect").boundingBox(), await figure.locator("svg").boundingBox()];
  assert.ok(own.x + own.width <= sheet.x + sheet.width, "the name ends within the figure");
  const words_of_it = await figure.evaluate((section) => [...section.querySelectorAll("svg text")].map((text) => text.textContent.trim()).join(" "));
  assert.ok(words_of_it.includes("nothing of it is private"), words_of_it);
  assert.equal(await button("round").count(), 1);
  assert.ok((await figure.locator("svg text", { hasText: /^\s*round\s*$/ }).count()) > 1, "the axis and the line");

  // The background of a figure is the page's.
  const sheets = await figure.evaluate((section) => getComputedStyle(section.querySelector("svg > rect")).fill);
  assert.equal(sheets, colorScheme === "dark" ? "none" : "rgb(255, 255, 255)");

  // Dragging shows a part: with labels of that part, lines as thin as before, within their panel. A button and a double click show everything again.
  assert.match(await figure.locator(".tools").innerText(), /Click a name .* Drag to see a part/);
  const state = () => figure.evaluate((section) => {
    const texts = [...section.querySelectorAll("[data-panel='1'] text")].filter((text) => text.getClientRects().length > 0);
    const line = section.querySelector("[data-panel='1'] [data-series] polyline");
    const sizes = texts.map((text) => getComputedStyle(text).fontSize);
    return { labels: texts.map((text) => text.textContent.trim()), sizes: [...new Set(sizes)], width: line.getAttribute("stroke-width"), points: line.getAttribute("points"), box: section.querySelector("svg").getAttribute("viewBox") };
  });
  const drag = async () => {
    Object.assign(target, await where());
    await page.mouse.move(target.across - 100, target.down - 20);
    await page.mouse.down();
    await page.mouse.move(target.across - 20, target.down + 60, { steps: 4 });
    await page.mouse.up();
  };
  const again = figure.getByRole("button", { name: "Whole figure" });
  const whole = await state();
  for (const back of [() => again.click(), () => figure.locator("svg").dblclick({ position: { x: 60, y: 60 } })]) {
    assert.ok(await again.isHidden());
    await drag();
    const part = await state();
    assert.notDeepEqual(part.labels, whole.labels);
    assert.ok(part.labels.filter((label) => Number.isFinite(Number(label))).length >= 4, `labels of both axes: ${part.labels}`);
    assert.ok(part.labels.includes("round"), "the axis keeps its name");
    assert.deepEqual([part.sizes, part.width, part.box], [whole.sizes, whole.width, whole.box]);
    assert.notEqual(part.points, whole.points);
    if (pictures && width === 1200) await page.screenshot({ path: join(pictures, `report-part-${colorScheme}.png`) });
    await back();
    assert.deepEqual((await state()).labels, whole.labels);
  }
  assert.deepEqual(complaints, []);
  if (width === 1200 && colorScheme === "dark") {
    // On an A4 page between its margins nothing is cut or folded, and rows are whole.
    await page.setViewportSize({ width: 700, height: 1000 });
    await page.emulateMedia({ media: "print" });
    const cut = await page.evaluate(() => [...document.querySelectorAll("table, svg")].map((part) => part.getBoundingClientRect().right).filter((right) => right > innerWidth));
    assert.deepEqual(cut, [], "parts wider than the page");
    const folded = await page.evaluate(() => [...document.querySelectorAll("details pre")].filter((text) => !text.checkVisibility({ contentVisibilityAuto: true }) || text.getBoundingClientRect().height < 10).length);
    assert.equal(folded, 0, "texts that stay folded");
    assert.ok((await page.locator("table thead").count()) >= 1, "a table that is longer than a page repeats its header");
    for (const part of ["tr", "section"]) assert.equal(await page.locator(part).first().evaluate((one) => getComputedStyle(one).breakInside), "avoid", part);
    const printed = await page.pdf({ path: pictures && join(pictures, "report.pdf"), format: "A4" });
    assert.ok(printed.length > 20_000);
  }
  await page.close();
}

// On a telephone two fingers show a part of a panel, two taps the whole again, and one finger scrolls the page.
{
  const page = await browser.newPage({ viewport: { width: 400, height: 900 }, hasTouch: true, isMobile: true });
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  const figure = page.locator("section.figure").nth(1);
  assert.match(await figure.locator(".tools").innerText(), /^Tap a line .* Spread two fingers to see a part of it; tap twice/);
  await figure.locator("svg").evaluate((svg) => svg.scrollIntoView({ block: "center", inline: "start" }));
  /** The middle of the first panel, in the drawing and on the screen, and a point of its first line that is on the screen. */
  const { middle, at: [x, y], point } = await figure.evaluate((section) => {
    const { panels, x, y } = JSON.parse(section.querySelector("script").textContent);
    const [left, top, right, bottom] = panels[0].box;
    const matrix = section.querySelector("svg").getScreenCTM();
    const on_screen = (across, down) => (({ x, y }) => [x, y])(new DOMPoint(across, down).matrixTransform(matrix));
    const middle = [(left + right) / 2, (top + bottom) / 2];
    const place = (axis, value, from, to) => from + ((axis.log ? Math.log10(value) : value) - axis.from) / (axis.to - axis.from) * (to - from);
    const { points } = panels[0].series[0];
    const [round, regret] = points[Math.floor(points.length / 2)];
    return { middle, at: on_screen(...middle), point: { round, at: on_screen(place(x, round, left, right), place(y, regret, bottom, top)) } };
  });
  const state = () => figure.evaluate((section) => {
    const texts = [...section.querySelectorAll("[data-panel='0'] text")].filter((text) => text.getClientRects().length > 0);
    const line = section.querySelector("[data-panel='0'] [data-series] polyline");
    return { labels: texts.map((text) => text.textContent.trim()), points: line.getAttribute("points").trim().split(/\s+/).map((point) => point.split(",").map(Number)) };
  });
  const devtools = await page.context().newCDPSession(page);
  const touch = (type, ...points) => devtools.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  /** Two fingers around the middle, one after the other, from one distance to another. */
  const pinch = async (from, to) => {
    const fingers = (away) => [[x - away, y - away / 2], [x + away, y + away / 2]];
    await touch("touchStart", fingers(from)[0]);
    await touch("touchStart", ...fingers(from));
    for (let step = 1; step <= 8; step++) await touch("touchMove", ...fingers(from + (to - from) * step / 8));
    await touch("touchEnd", fingers(to)[1]);
    await touch("touchEnd");
  };
  const whole = await state();
  const again = figure.getByRole("button", { name: "Whole figure" });
  /** Asserts that points of the line are `times` times as far from the middle as in the whole figure. */
  const are_away = (points, times, tolerance) => points.forEach((point, number) => point.forEach((found, axis) => {
    const expected = middle[axis] + times * (whole.points[number][axis] - middle[axis]);
    assert.ok(Math.abs(found - expected) < tolerance, `${found} in place of ${expected}`);
  }));
  const is_enlarged = async (times) => {
    const part = await state();
    assert.notDeepEqual(part.labels, whole.labels);
    assert.ok(part.labels.filter((label) => Number.isFinite(Number(label))).length >= 3, `labels of both axes: ${part.labels}`);
    are_away(part.points, times, 2 * times);
    assert.ok(await again.isVisible());
  };
  const is_whole = async () => {
    const now = await state();
    assert.deepEqual(now.labels, whole.labels);
    are_away(now.points, 1, 0.01);
    assert.ok(await again.isHidden());
  };
  await page.touchscreen.tap(...point.at);
  assert.match(await figure.locator("output").innerText(), new RegExp(`round ${point.round}\\b`));
  await is_whole();
  await pinch(30, 90);
  await is_enlarged(3);
  if (pictures) await page.screenshot({ path: join(pictures, "report-touch.png") });
  // The axes are drawn anew while fingers move: a finger that began on one of their lines would not be heard of again.
  assert.equal(await figure.locator("[data-ticks]").first().evaluate((axes) => getComputedStyle(axes).pointerEvents), "none");
  // Further in, and out beyond the whole.
  await pinch(30, 60);
  await is_enlarged(6);
  await pinch(90, 10);
  await is_whole();
  for (const back of [() => again.tap(), async () => {
    await page.touchscreen.tap(x, y);
    await page.touchscreen.tap(x, y);
  }]) {
    await page.waitForTimeout(600);
    await pinch(30, 60);
    await is_enlarged(2);
    await back();
    await is_whole();
  }
  assert.equal(await page.evaluate(() => visualViewport.scale), 1, "the browser enlarged the page");
  const before = await page.evaluate(() => scrollY);
  await touch("touchStart", [x, y]);
  for (let step = 1; step <= 8; step++) await touch("touchMove", [x, y - 25 * step]);
  await touch("touchEnd");
  const scrolled = await page.evaluate(() => scrollY) - before;
  assert.ok(scrolled > 100, `one finger scrolled the page by ${scrolled}`);
  await is_whole();
  assert.deepEqual(complaints, []);
  await page.close();
}
await browser.close();
rmSync(folder, { recursive: true });
console.log("report: ok");
