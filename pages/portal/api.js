// The API, as the portal asks it. It knows the session, and sends it nowhere else.

/** What a request was refused with; code UNREACHABLE when no answer came. */
export class Refusal extends Error {
  constructor({ code, message = '', details = '', retryAfter = 0 }) {
    super(message || code);
    Object.assign(this, { code, details, retryAfter });
  }
}

const PATIENCE = 20_000; // a test of a webhook waits 10 s for its receiver

export class Api {
  #unheard = new Map(); // by request: the key under which it may have been done already

  /** `over` is told when the session is refused. */
  constructor(base, { fetch = globalThis.fetch.bind(globalThis), over = () => {} } = {}) {
    Object.assign(this, { base, fetch, over, session: '', kind: 'api', left: Infinity }); // left: of the session's requests
  }

  get = (path) => this.#call('GET', path);
  put = (path, body) => this.#call('PUT', path, body);
  remove = (path) => this.#call('DELETE', path);

  /**
   * A POST whose answer was lost is done once, however often it is tried again: the same request has
   * the same Idempotency-Key until it was answered.
   */
  async post(path, body = {}) {
    const what = `${path} ${JSON.stringify(body)}`;
    const key = this.#unheard.get(what) ?? randomKey();
    this.#unheard.set(what, key);
    try {
      const data = await this.#call('POST', path, body, { 'Idempotency-Key': key });
      this.#unheard.delete(what);
      return data;
    } catch (err) {
      if (err.code !== 'UNREACHABLE') this.#unheard.delete(what);
      throw err;
    }
  }

  async #call(method, path, body, headers = {}) {
    const sent = { method, headers: { ...headers }, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer', signal: AbortSignal.timeout(PATIENCE) };
    const { session } = this;
    if (session !== '') sent.headers.Authorization = `Bearer ${session}`;
    if (body !== undefined) {
      sent.headers['Content-Type'] = 'application/json';
      sent.body = JSON.stringify(body);
    }
    let answer;
    let read;
    try {
      answer = await this.fetch(this.base + path, sent);
      read = await answer.json();
    } catch {
      throw new Refusal({ code: 'UNREACHABLE' });
    }
    const left = answer.headers.get('RateLimit-Remaining');
    if (left !== null) this.left = Number(left);
    if (read?.success === true) return read.data;
    const refusal = new Refusal({ ...(read?.error ?? { code: 'INTERNAL_ERROR' }), retryAfter: Number(answer.headers.get('Retry-After')) || 0 });
    // A view asks for several things at once: of those that a session no longer opens, the first one ends it.
    if (refusal.code === 'INVALID_API_KEY' && session === this.session) this.over(refusal);
    throw refusal;
  }

  /** The path of a webhook; a bot token has the one. */
  hook(id) {
    return this.kind === 'bot' ? '/v1/telegram/webhook' : `/v1/webhooks/${encodeURIComponent(id)}`;
  }

  get hooksPath() {
    return this.kind === 'bot' ? '/v1/telegram/webhook' : '/v1/webhooks';
  }

  /** The webhooks, each with its health. */
  async hooks() {
    if (this.kind === 'bot') {
      try {
        return [await this.get(this.hook(''))];
      } catch (err) {
        if (err.code === 'WEBHOOK_NOT_FOUND') return [];
        throw err;
      }
    }
    const { webhooks } = await this.get('/v1/webhooks');
    const whole = [];
    for (let i = 0; i < webhooks.length; i += 4) { // a few at once
      whole.push(...await Promise.all(webhooks.slice(i, i + 4).map((one) => this.get(this.hook(one.webhook_id)).catch((err) => {
        if (err.code === 'WEBHOOK_NOT_FOUND') return null; // removed meanwhile
        throw err;
      }))));
    }
    return whole.filter(Boolean);
  }

  /** What tells by one request whether the list of webhooks has changed. */
  async glance() {
    if (this.kind === 'bot') return JSON.stringify(await this.hooks());
    return JSON.stringify((await this.get('/v1/webhooks')).webhooks);
  }

  #catalogue = null;
  /** All events, asked for once. */
  async events() {
    this.#catalogue ??= (await this.get('/v1/webhooks/events')).events;
    return this.#catalogue;
  }
}

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
