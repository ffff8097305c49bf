// Bytes and text.

const encoder = new TextEncoder();

/** Bytes of a message: given as bytes, an ArrayBuffer, or text. */
export function toBytes(message) {
  if (typeof message === "string") return encoder.encode(message);
  if (message instanceof Uint8Array) return message;
  if (message instanceof ArrayBuffer) return new Uint8Array(message);
  throw new TypeError("message: got a value of another type; expected a string, a Uint8Array or an ArrayBuffer");
}

/** A message as text. */
export function toText(message) {
  return typeof message === "string" ? message : new TextDecoder().decode(toBytes(message));
}

/** Bytes as base64. */
export function toBase64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Bytes from base64. */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
