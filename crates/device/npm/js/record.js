// Records as JSON that the module reads, whatever they hold.
//
// No record fails: whether a choice is made must not depend on what a person's record says. What the rule for features cannot use is missing or of the
// wrong type, as in Rust and Python.

/** Objects and lists inside each other that are looked at, as in the module. */
const NESTING = 16;
/** Values and characters of one record that are looked at; what lies beyond is missing. */
const MOST_VALUES = 100_000;
const MOST_CHARACTERS = 1 << 20;

/** An encoded value that no rule can use. */
const MISTYPED = [];

/** A record as JSON. */
export function recordText(record) {
  const budget = { values: MOST_VALUES, characters: MOST_CHARACTERS };
  return JSON.stringify(plain(record, NESTING, budget));
}

function plain(given, nesting, budget) {
  budget.values -= 1;
  if (budget.values < 0) return null;
  let value = given;
  try {
    if (typeof value?.toJSON === "function") value = value.toJSON();
    switch (typeof value) {
      case "boolean":
        return value;
      case "number":
        if (Number.isNaN(value)) return null;
        // A number outside every range is clipped.
        return Number.isFinite(value) ? value : value > 0 ? "inf" : "-inf";
      case "bigint":
        return text(String(value), budget);
      case "string":
        return text(value, budget);
      case "object":
        return value === null || nesting === 0 ? null : members(value, nesting - 1, budget);
      case "undefined":
        return null;
      default:
        return MISTYPED;
    }
  } catch {
    // An object that fails to say what it holds.
    return MISTYPED;
  }
}

function members(value, nesting, budget) {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const list = [];
    for (let i = 0; i < value.length && budget.values > 0; i += 1) list.push(plain(value[i], nesting, budget));
    return list;
  }
  const record = Object.create(null);
  for (const name of Object.keys(value)) {
    if (budget.values <= 0) break;
    const key = text(name, budget);
    if (key !== null) record[key] = property(value, name, nesting, budget);
  }
  return record;
}

function property(value, name, nesting, budget) {
  let member;
  try {
    member = value[name];
  } catch {
    return MISTYPED;
  }
  return plain(member, nesting, budget);
}

/** One of a pair of surrogates by itself is no character: U+FFFD stands for it. */
function text(value, budget) {
  budget.characters -= value.length;
  if (budget.characters < 0) return null;
  return value.replace(/\p{Surrogate}/gu, "\ufffd");
}
