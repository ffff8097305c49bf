// A worker with a person's device: it visits until it is refused.

import { parentPort, workerData } from "node:worker_threads";

import { Person } from "../../js/index.js";
import { fileStorage } from "../../js/node.js";

const { folder, golden, visits } = workerData;
const device = await Person.fromProtocol(golden.protocol, { loop: "home", storage: fileStorage(folder),
  now: () => golden.seconds * 1000,
});
device.setModel(golden.model);
let made = 0;
for (let i = 0; i < visits; i += 1) {
  device.choose(golden.context, golden.actions);
  try {
    await device.report(1);
    made += 1;
  } catch (error) {
    if (!/reports left: got 0/.test(error.message)) throw error;
  }
}
parentPort.postMessage({ made });
