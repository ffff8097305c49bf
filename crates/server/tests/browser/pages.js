// Starts the service with its demonstration, signs in with a real browser, watches the demonstration learn, and opens the certificate.
//
//   cargo xtask browser
//   cd crates/server/tests/browser && npm ci && node pages.js [--screenshots FOLDER] [--seconds 60]
//
// RETICENT names the desk program (default: target/debug/reticent), beside which that of the service lies, CHROMIUM the browser (default: /usr/bin/chromium). With --screenshots it also leaves
// pictures and the certificate as PDF. docs/figures/dashboard.png is its dashboard.png: the dashboard of an admin key --seconds after the first lift.
import { chromium } from "playwright-core";
import { spawn, execFileSync } from "node:child_process";
import { createInterface } from "node:readline";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";
import assert from "node:assert/strict";

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const root = fileURLToPath(new URL("../../../../", import.meta.url));
const desk = process.env.RETICENT ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/reticent");
const server = join(dirname(desk), "reticent-server");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const pictures = option("--screenshots");
const seconds = Number(option("--seconds") ?? 0);
for (const path of [server, executablePath]) assert.ok(existsSync(path), `${path} is missing`);
if (pictures) mkdirSync(pictures, { recursive: true });

// A machine that does other things too is slow: what comes is waited for, and what never comes fails.
const PATIENCE = 180_000;

/** The service, with its address and the key that it prints; further keys are made beside it, as an operator does. */
const start = async () => {
  const child = spawn(server, ["serve", "--demo", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "ignore", "pipe"] });
  process.on("exit", () => child.kill("SIGKILL"));
  let address, admin;
  await new Promise((resolve, reject) => {
    child.on("exit", () => reject(new Error("the service did not start")));
    createInterface({ input: child.stderr }).on("line", (line) => {
      address ??= line.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0];
      admin ??= line.match(/^rt_\S+$/)?.[0];
      // Later lines of its log help to explain a failure.
      if (line.startsWith("{")) console.error(line);
      if (admin) resolve();
    });
  });
  const data = join(tmpdir(), `reticent-demo-${child.pid}`);
  const read = execFileSync(server, ["key", "new", "--data", data, "--loop", "news", "--role", "read"], { encoding: "utf8" }).trim();
  return { child, data, address, admin, read };
};

const { child, data, address, admin, read } = await start();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const complaints = [];

/** A page whose errors and outside requests are complaints. */
const open = async (settings) => {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...settings });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error}`));
  page.on("requestfailed", (request) => {
    // A page that is left does not wait for its next update.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`status: ${response.status()} ${response.url()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${address}/`)) complaints.push(`outside: ${request.url()}`);
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

/** The figure of a tile, NaN where it is none yet. */
const figureOf = (page, name) => page.evaluate((name) => {
  const tiles = [...document.querySelectorAll(".tile")];
  const text = tiles.find((tile) => tile.querySelector("dt").textContent === name)?.querySelector("strong").textContent;
  return Number((text ?? "none").replace(/,/g, ""));
}, name);

/** Waits until a tile of a page shows more than this. */
const grows = async (page, name, least) => {
  const end = Date.now() + PATIENCE;
  while (!(await figureOf(page, name) > least)) {
    assert.ok(Date.now() < end, `${name} stays at ${await figureOf(page, name)}`);
    await page.waitForTimeout(200);
  }
};

const run = async () => {
  const desk = await open({ colorScheme: "light" });
  await desk.goto(address);
  await picture(desk, "sign-in");
  await signIn(desk, admin);
  await desk.evaluate(() => { window.notReloaded = true; });

  // Live: the numbers move, and the page is the same one.
  for (const name of ["Model version", "Rank requests answered", "Rewards taken"]) await grows(desk, name, await figureOf(desk, name));
  // It learns: the lift becomes a number above 0, and the chart has both lines.
  await grows(desk, "Lift over the baseline", 0);
  // A line needs two releases in a row in which the baseline's signal is above its noise.
  for (const series of ["policy", "baseline"]) await desk.locator(`svg.wide .${series} polyline.line`).first().waitFor({ state: "attached" });
  assert.ok(await desk.getByText("internal only").first().isVisible());
  assert.ok(await desk.evaluate(() => window.notReloaded), "the page was reloaded");
  await desk.waitForTimeout(seconds * 1000);
  await picture(desk, "dashboard");

  // The certificate, one page when it is printed.
  await desk.getByRole("link", { name: "news" }).click();
  await desk.getByRole("heading", { name: "Lift over the baseline" }).waitFor();
  await desk.getByRole("link", { name: "Certificate" }).last().click();
  await desk.getByRole("heading", { name: "Privacy certificate: news" }).waitFor();
  const text = await desk.locator("article").innerText();
  for (const words of ["at best", "enforced", "assumed", "reticent certify --chain", "calendar windows of 30 days"]) assert.ok(text.includes(words), words);
  const pdf = await desk.pdf({ preferCSSPageSize: true, path: pictures && join(pictures, "certificate.pdf") });
  assert.equal(pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length, 1, "the certificate is not one page");

  // A read key: no exact count of what people did.
  const reader = await open({});
  await signIn(reader, read);
  assert.equal(await reader.getByText("internal only").count(), 0);
  assert.equal(await reader.getByText("Rewards taken").count(), 0);
  const cookies = await reader.context().cookies();
  assert.ok(cookies.length > 0 && cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"));
  await picture(reader, "read-key", true);

  // Desk and telephone, by day and by night: nothing has to be moved sideways.
  for (const width of [1200, 400]) for (const colorScheme of ["light", "dark"]) {
    const page = await open({ viewport: { width, height: 800 }, colorScheme });
    await page.goto(address);
    await fits(page, `sign-in at ${width} px`);
    await signIn(page, admin);
    for (const path of ["/", "/loops/news", "/loops/news/certificate", "/certificate", "/docs"]) {
      await page.goto(address + path);
      await fits(page, `${path} at ${width} px`);
      const brightness = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b));
      assert.ok(colorScheme === "dark" ? brightness < 150 : brightness > 600, `${path} is not ${colorScheme}: ${brightness}`);
      await picture(page, `${width}-${colorScheme}${path.replaceAll("/", "-")}`, true);
    }
    // Signed out is out.
    await page.goto(address);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.context().close();
  }
  assert.deepEqual(complaints, []);
};

let failed = false;
try {
  await run();
} catch (error) {
  failed = true;
  console.error(error, complaints);
}
await browser.close();
// The service stops as an operator stops it, and removes what the demonstration kept.
const stopped = new Promise((resolve) => child.on("exit", resolve));
child.kill("SIGTERM");
const status = await stopped;
if (status !== 0 || existsSync(data)) {
  failed = true;
  console.error(`the service stopped with ${status}; its folder is ${existsSync(data) ? "still there" : "gone"}`);
}
if (!failed) console.log("browser: ok");
process.exit(failed ? 1 : 0);
