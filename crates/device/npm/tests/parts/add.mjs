// Adds 1 to a number in a folder a given number of times, and prints each result.

import { fileStorage } from "../../js/node.js";

const [folder, times] = process.argv.slice(2);
const storage = fileStorage(folder);
for (let i = 0; i < Number(times); i += 1) {
  const value = await storage.update("number", (text) => {
    const next = Number(text ?? 0) + 1;
    return { text: String(next), value: next };
  });
  console.log(value);
}
