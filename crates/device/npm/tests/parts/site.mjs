// A site on this machine with the package under /js/ and some pages of a test.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";

const folder = new URL("../../js/", import.meta.url);
const types = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** Serves these pages, by path a type and a body. */
export async function serve(pages) {
  const requests = [];
  const server = createServer(async (request, response) => {
    requests.push({ url: request.url, headers: request.headers });
    const [type, body] = pages[request.url] ?? [];
    if (body !== undefined) return response.writeHead(200, { "content-type": type }).end(body);
    const file = /^\/js\/([a-z]+\.[a-z]+)$/.exec(request.url)?.[1];
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[extname(file)] }).end(await readFile(new URL(file, folder)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}/`, close, requests };
}
