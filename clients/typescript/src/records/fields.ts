// Reads the JSON of a response field by field. JSON.parse checks no types, and a payment without its id must not pass for one.

/** Thrown for a response that does not have the expected form. Its message names the field, never its value. */
export class Malformed extends Error {}

/** One JSON object of a response. Its methods return a field in the expected type, and throw Malformed otherwise. */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(value: unknown, what: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed(what);
    this.#fields = value as Record<string, unknown>;
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  /** A string; "" for a missing field. */
  text(name: string): string {
    const value = this.#get(name) ?? "";
    if (typeof value !== "string") throw new Malformed(name);
    return value;
  }

  /** A string that must not be missing or empty. */
  some(name: string): string {
    const value = this.text(name);
    if (value === "") throw new Malformed(name);
    return value;
  }

  /** An integer; undefined for null and for a missing field. */
  number(name: string): number | undefined {
    const value = this.#get(name) ?? undefined;
    if (value !== undefined && !Number.isSafeInteger(value)) throw new Malformed(name);
    return value as number | undefined;
  }

  count(name: string): number {
    const value = this.number(name);
    if (value === undefined) throw new Malformed(name);
    return value;
  }

  /** An object as it is; undefined for null and for a missing field. */
  object(name: string): Readonly<Record<string, unknown>> | undefined {
    const value = this.#get(name) ?? undefined;
    if (value !== undefined && (typeof value !== "object" || Array.isArray(value))) throw new Malformed(name);
    return value as Readonly<Record<string, unknown>> | undefined;
  }

  flag(name: string): boolean {
    const value = this.#get(name) ?? false;
    if (typeof value !== "boolean") throw new Malformed(name);
    return value;
  }

  /** A time in ISO 8601; undefined for "", which means that it has not happened yet. */
  time(name: string): Date | undefined {
    const text = this.text(name);
    if (text === "") return undefined;
    const time = new Date(text);
    if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time.getTime())) throw new Malformed(name);
    return time;
  }

  texts(name: string): string[] {
    const value = this.#get(name);
    if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) throw new Malformed(name);
    return value;
  }

  /** Any JSON value, unchecked. */
  any(name: string): unknown {
    return this.#get(name);
  }

  record(name: string): Fields {
    return new Fields(this.#get(name), name);
  }

  records(name: string): Fields[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) throw new Malformed(name);
    return value.map((one) => new Fields(one, name));
  }

  entries(): [string, Fields][] {
    return Object.entries(this.#fields).map(([name, value]) => [name, new Fields(value, "an entry")]);
  }
}
