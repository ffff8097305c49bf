// Signs in to the example server of the pages with a real browser, watches the demonstration learn, and opens the certificate.
//
//   cargo build -p reticent-server --example pages_server
//   cd crates/server/tests/browser && npm ci && node pages.js [--screenshots FOLDER] [--seconds 40]
//
// SERVER names the server's binary (default: target/debug/examples/pages_server), CHROMIUM the browser (default: /usr/bin/chromium).
// With --screenshots it also leaves pictures and the certificate as PDF. docs/images/dashboard.png is its dashboard.png: the dashboard of an admin key
// at 1100 x 900 after the given seconds.
import { chromium } from "playwright-core";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import assert from "node:assert/strict";

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const root = fileURLToPath(new URL("../../../../", import.meta.url));
const server = process.env.SERVER ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/examples/pages_server");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const pictures = option("--screenshots");
const seconds = Number(option("--seconds") ?? 40);
for (const path of [server, executablePath]) assert.ok(existsSync(path), `${path} is missing`);
if (pictures) mkdirSync(pictures, { recursive: true });

// The first three lines are the address and two keys.
const child = spawn(server, [], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const line = async () => (await lines.next()).value;
const [address, admin, read] = [await line(), await line(), await line()];
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const complaints = [];

/** A page whose errors and outside requests are complaints. */
const open = async (settings) => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...settings });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error}`));
  page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`));
  page.on("request", (request) => {
    if (!["127.0.0.1", "localhost"].includes(new URL(request.url()).hostname)) complaints.push(`outside: ${request.url()}`);
  });
  return page;
};

const signIn = async (page, key) => {
  await page.goto(address);
  await page.getByLabel("Key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "news" }).waitFor();
};

const picture = async (page, name, whole = false) => {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: whole });
};

/** Nothing is wider than the window. */
const fits = async (page, what) => {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= window, `${what}: ${content} px in a window of ${window} px`);
};

const tile = (page, name) => page.locator(".tile", { hasText: name }).locator("strong").first();
const numberIn = async (page, name) => Number((await tile(page, name).textContent()).replace(",", ""));

const run = async () => {
  const desk = await open({ colorScheme: "light" });
  await desk.goto(address);
  await picture(desk, "sign-in");
  await signIn(desk, admin);
  await desk.evaluate(() => { window.notReloaded = true; });

  // Live: the version grows, and the page is the same one.
  const before = await numberIn(desk, "Model version");
  await desk.waitForFunction(
    (before) => Number([...document.querySelectorAll(".tile")].find((tile) => tile.textContent.includes("Model version")).querySelector("strong").textContent) > before + 2,
    before, { timeout: 15_000 });
  assert.ok(await desk.evaluate(() => window.notReloaded), "the page was reloaded");

  // It learns: the lift becomes a number above 0, and the chart has both lines.
  await desk.waitForFunction(
    () => Number([...document.querySelectorAll(".tile")].find((tile) => tile.textContent.includes("Lift"))?.querySelector("strong").textContent) > 0,
    undefined, { timeout: 120_000 });
  await desk.waitForTimeout(seconds * 1000);
  assert.ok(await numberIn(desk, "Lift over the baseline") > 0, "no lift");
  assert.equal(await desk.locator("svg.wide polyline.line").count() >= 2, true, "the chart lacks a line");
  assert.ok(await desk.getByText("curator only").first().isVisible());
  await fits(desk, "dashboard");
  await picture(desk, "dashboard");
  await picture(desk, "dashboard-whole", true);

  await desk.getByRole("link", { name: "news" }).click();
  await desk.getByRole("heading", { name: "Lift over the baseline" }).waitFor();
  await picture(desk, "loop", true);
  await desk.getByRole("link", { name: "Certificate" }).last().click();
  await desk.getByRole("heading", { name: "Privacy certificate: news" }).waitFor();
  const text = await desk.locator("article").innerText();
  for (const words of ["at best", "enforced", "trusted", "reticent certify --chain", "periods of 30 days"]) assert.ok(text.includes(words), words);
  await picture(desk, "certificate", true);
  if (pictures) await desk.pdf({ path: join(pictures, "certificate.pdf"), preferCSSPageSize: true });
  const pdf = (await desk.pdf({ preferCSSPageSize: true })).toString("latin1");
  assert.equal(pdf.match(/\/Type\s*\/Page\b/g)?.length, 1, "the certificate is not one page");
  await desk.goto(`${address}/certificate`);
  await picture(desk, "certificate-all", true);
  await desk.goto(`${address}/docs`);
  await picture(desk, "docs");

  // Dark, and a read key: no exact count of what people did.
  const night = await open({ colorScheme: "dark" });
  await signIn(night, read);
  assert.equal(await night.getByText("curator only").count(), 0);
  assert.equal(await night.getByText("Rewards taken").count(), 0);
  const [red, green, blue] = await night.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
  assert.ok(red + green + blue < 150, "not dark");
  await picture(night, "dark", true);
  const cookies = await night.context().cookies();
  assert.ok(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"));

  // A telephone of 400 pixels: nothing has to be moved sideways.
  const phone = await open({ viewport: { width: 400, height: 800 }, colorScheme: "dark" });
  await phone.goto(address);
  await fits(phone, "sign-in at 400 px");
  await signIn(phone, admin);
  for (const path of ["/", "/loops/news", "/loops/news/certificate", "/certificate", "/docs"]) {
    await phone.goto(address + path);
    await fits(phone, `${path} at 400 px`);
    await picture(phone, `phone${path.replaceAll("/", "-")}`, true);
  }

  // Signed out is out.
  await phone.goto(address);
  await phone.getByRole("button", { name: "Sign out" }).click();
  await phone.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(complaints, []);
};

let failed = false;
try {
  await run();
  console.log("browser: ok");
} catch (error) {
  failed = true;
  console.error(error, complaints);
} finally {
  await browser.close();
  // The server stops when its input ends.
  child.stdin.end();
}
process.exit(failed ? 1 : 0);
