// Serves the page: `node examples/web/serve.mjs --service http://127.0.0.1:8080 --key rt_... [--port 8081]`.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { service: { type: "string" }, key: { type: "string" }, port: { type: "string", default: "8081" } },
});
if (values.service === undefined) {
  console.error("give --service, the address of `reticent-server serve`, and --key, a key of role device");
  process.exit(2);
}
const folders = { page: new URL("./", import.meta.url), package: new URL("../../crates/device/npm/js/", import.meta.url) };
const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".wasm": "application/wasm" };

const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://page").pathname;
  if (path === "/config.json") {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ service: values.service, key: values.key }));
    return;
  }
  const [, inPackage, file] = /^\/(reticent\/)?([a-z]*(?:\.[a-z]+)?)$/.exec(path) ?? [];
  try {
    const name = file || "index.html";
    const body = await readFile(new URL(name, inPackage ? folders.package : folders.page));
    response.writeHead(200, { "content-type": types[extname(name)] ?? "text/plain", "cache-control": "no-store" });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
});
server.listen(Number(values.port), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
