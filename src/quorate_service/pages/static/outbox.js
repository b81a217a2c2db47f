// Queue of a voter's acts: kept in the browser until the server has stored them, sent in order, retried until accepted.
// Each has an idempotency key, so that one sent twice counts once.

const FIRST_WAIT = 500, LONGEST_WAIT = 15000, PATIENCE = 10000; // milliseconds
const NOT_FROM_HERE = ["Origin", "Sec-Fetch-Site"]; // fields of a 403 about the page, not about the act

export class Outbox {
  // `send(act)` returns a Response or throws; an act that nobody is signed in for is sent again until this voter is;
  // `notify(name, act, detail)` is called with "sent", "refused", "waiting" or "signed-out"
  constructor(prefix, send, notify) {
    Object.assign(this, { prefix, send, notify, isBusy: false, wake: () => {}, kept: new Map() });
    for (const [name, act] of this.stored()) this.kept.set(name, act);
    addEventListener("online", () => this.wake());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.wake(); });
    addEventListener("beforeunload", (event) => { if (this.kept.size) event.preventDefault(); });
  }

  get size() { return this.kept.size; }
  has(item) { return [...this.kept.values()].some((act) => act.item === item); }

  stored() {
    try {
      return Object.keys(localStorage).filter((name) => name.startsWith(this.prefix)).sort()
        .map((name) => [name, JSON.parse(localStorage.getItem(name))]);
    } catch { return []; } // no storage: only this page keeps the acts
  }

  add(act) {
    const key = randomKey();
    const name = `${this.prefix}${String(Date.now()).padStart(15, "0")}-${key}`;
    this.put(name, { ...act, key, tries: 0 });
    this.flush();
    return name;
  }

  put(name, act) {
    this.kept.set(name, act);
    try { localStorage.setItem(name, JSON.stringify(act)); } catch { /* as above */ }
  }

  drop(name) {
    this.kept.delete(name);
    try { localStorage.removeItem(name); } catch { /* as above */ }
  }

  // Remove an act that was never sent; returns whether it was still here.
  recall(name) {
    if (this.kept.get(name)?.tries !== 0) return false;
    this.drop(name);
    return true;
  }

  async flush() {
    if (this.isBusy) return this.wake();
    this.isBusy = true;
    let wait = FIRST_WAIT;
    while (this.kept.size) {
      const [name, act] = this.kept.entries().next().value;
      this.put(name, { ...act, tries: act.tries + 1 });
      const pause = await this.attempt(name, act);
      if (pause === 0) { wait = FIRST_WAIT; continue; }
      await new Promise((resume) => { this.wake = resume; setTimeout(resume, pause ?? wait); });
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
    this.isBusy = false;
  }

  // Returns 0 to continue, or undefined or milliseconds to retry this act later.
  async attempt(name, act) {
    let answer, body = {};
    try {
      answer = await this.send(act, AbortSignal.timeout?.(PATIENCE));
      body = await answer.json();
    } catch { if (!answer?.ok) { this.notify("waiting", act); return undefined; } }
    if (answer.ok) { this.drop(name); this.notify("sent", act, body); return 0; }
    if (isSignedOut(answer.status, body)) {
      this.notify("signed-out", act, body);
      return undefined;
    }
    if (answer.status >= 500 || answer.status === 429 || answer.status === 408) {
      this.notify("waiting", act);
      return 1000 * Number(answer.headers.get("Retry-After")) || undefined;
    }
    this.drop(name);
    this.notify("refused", act, body);
    return 0;
  }
}

// Whether a response is about the sign-in, not about the act: signed out, or somebody else is signed in.
export function isSignedOut(status, body) {
  return status === 401 || (status === 403 && NOT_FROM_HERE.includes(body.field));
}

// Not crypto.randomUUID: browsers offer it on https only.
function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
