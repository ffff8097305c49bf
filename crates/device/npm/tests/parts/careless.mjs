// A storage as it must not be: it reads, waits, and writes.

export async function race() {
  let stored = "0";
  const update = async (change) => {
    const text = stored;
    await new Promise((resolve) => setImmediate(resolve));
    stored = change(text);
  };
  await Promise.all(Array.from({ length: 100 }, () => update((text) => String(Number(text) + 1))));
  return { text: stored };
}
