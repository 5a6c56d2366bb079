// The live entries of an agent: server-sent events, read with fetch() for the sake of its headers.

import { ApiError, get, path, send, withQuery } from "./api.js";

/** Rows that are kept, and milliseconds between two updates of the page. */
export const ROWS = 200;
const FLUSH = 250;
/** Longest and shortest wait before a new connection, silence that ends one, time in the background. */
const [SHORTEST, LONGEST, SILENCE, BACKGROUND] = [1000, 30_000, 60_000, 60_000];

/** Split a stream of server-sent events into complete ones; the rest stays for the next call. */
export class EventParser {
  #rest = "";

  /** Return the events of a piece of text: [{event, id, data}]. */
  push(text) {
    const all = (this.#rest + text).replaceAll("\r\n", "\n");
    const end = all.lastIndexOf("\n\n");
    if (end < 0) {
      this.#rest = all;
      return [];
    }
    this.#rest = all.slice(end + 2);
    return all.slice(0, end).split("\n\n").map(parsed).filter((one) => one.data !== null);
  }
}

function parsed(block) {
  const found = { event: "message", id: null, data: null };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") found.event = value;
    else if (field === "id") found.id = value;
    else if (field === "data") found.data = found.data === null ? value : `${found.data}\n${value}`;
  }
  return found;
}

/** Entries, status and connection of one agent. Listeners are called at most every FLUSH ms. */
export class Feed {
  /** Newest entries first. */
  entries = [];
  status = null;
  /** "connecting", "live", "waiting" (until a time), "hidden" or "stopped". */
  connection = { kind: "connecting", until: 0, problem: null };
  /** Number of new entries since the page was opened. */
  ticks = 0;
  /** The newest decision. */
  latest = null;
  loaded = false;

  #name;
  #listeners = new Set();
  #stop = new AbortController();
  #connected = null;
  #last = 0;
  #waiting = [];
  #timer = 0;
  #missed = false;
  #wake = () => {};
  #hiddenSince = document.hidden ? Date.now() : 0;
  #visibility = () => this.#onVisibility();

  constructor(name) {
    this.#name = name;
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start() {
    document.addEventListener("visibilitychange", this.#visibility);
    addEventListener("online", this.#visibility);
    this.#run();
  }

  close() {
    document.removeEventListener("visibilitychange", this.#visibility);
    removeEventListener("online", this.#visibility);
    clearTimeout(this.#timer);
    this.#listeners.clear();
    this.#stop.abort();
    this.#wake();
  }

  /** Connect at once instead of after the wait. */
  retry() {
    this.#wake();
  }

  async #run() {
    const { signal } = this.#stop;
    let attempts = 0;
    while (!signal.aborted) {
      let problem = null;
      try {
        if (!this.loaded) await this.#load();
        await this.#connect(() => (attempts = 0));
      } catch (error) {
        problem = error;
      }
      if (signal.aborted) return;
      if (problem instanceof ApiError && [401, 403, 404].includes(problem.status)) {
        this.#become("stopped", { problem });
        return;
      }
      if (this.#isHiddenForLong()) {
        this.#become("hidden");
        await this.#pause(null);
        this.loaded = false; // the missed entries may be many: begin with the newest ones
        continue;
      }
      const longest = Math.min(LONGEST, SHORTEST * 2 ** attempts++);
      const asked = problem instanceof ApiError ? 1000 * problem.retryAfter : 0;
      const wait = Math.max(asked, longest * (0.5 + 0.5 * Math.random()));
      this.#become("waiting", { until: Date.now() + wait, problem: problem instanceof ApiError ? problem : null });
      await this.#pause(wait);
    }
  }

  /** The newest entries of the journal. */
  async #load() {
    const address = withQuery(path("agents", this.#name, "history"), [["last", ROWS]]);
    const { entries } = await get(address, this.#stop.signal);
    const newest = entries.toReversed();
    if (newest.length && newest[0].number > this.#last) {
      if (this.#last) this.ticks += newest[0].number - this.#last;
      this.#last = newest[0].number;
    }
    this.entries = newest;
    this.latest = newest.find((one) => one.kind === "decide") ?? this.latest ?? (await this.#lastDecision());
    this.loaded = true;
    this.#notify();
  }

  /** The newest decision, if the newest entries are others. */
  async #lastDecision() {
    const address = withQuery(path("agents", this.#name, "decisions"), [["limit", 1]]);
    const { decisions } = await get(address, this.#stop.signal);
    return decisions.length ? { kind: "decide", decision: decisions[0].id, arm: decisions[0].arm } : null;
  }

  async #connect(opened) {
    this.#become("connecting");
    const connected = (this.#connected = new AbortController());
    const end = () => connected.abort();
    this.#stop.signal.addEventListener("abort", end);
    let silence = setTimeout(end, SILENCE);
    try {
      const address = withQuery(path("agents", this.#name, "stream"), [["after", this.#last]]);
      const response = await send("GET", address, { signal: connected.signal, accept: "text/event-stream" });
      this.#become("live");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        opened();
        clearTimeout(silence);
        silence = setTimeout(end, SILENCE);
        this.#take(parser.push(value));
      }
    } finally {
      clearTimeout(silence);
      this.#stop.signal.removeEventListener("abort", end);
      connected.abort();
    }
  }

  #take(events) {
    const entries = events.filter((one) => one.event === "entry");
    const away = events.findLast((one) => one.event === "away");
    if (away) throw new ApiError(503, "unavailable", String(JSON.parse(away.data).message));
    const status = events.findLast((one) => one.event === "status");
    if (status) this.status = JSON.parse(status.data);
    const fresh = entries.map((one) => JSON.parse(one.data)).filter((one) => one.number > this.#last);
    if (fresh.length) {
      const decision = fresh.findLast((one) => one.kind === "decide");
      // the service leaves entries out if there are very many: the last decision may be among them
      this.#missed = !decision && (this.#missed || fresh[0].number > this.#last + 1);
      this.latest = decision ?? this.latest;
      this.ticks += fresh.at(-1).number - this.#last;
      this.#last = fresh.at(-1).number;
    }
    this.#waiting = [...this.#waiting, ...fresh].slice(-ROWS);
    if ((fresh.length || status) && !this.#timer) this.#timer = setTimeout(() => this.#flush(), FLUSH);
  }

  #flush() {
    this.#timer = 0;
    if (this.#waiting.length) {
      this.entries = [...this.#waiting.reverse(), ...this.entries].slice(0, ROWS);
      this.#waiting = [];
    }
    this.#notify();
    if (this.#missed) this.#findMissed();
  }

  async #findMissed() {
    this.#missed = false;
    try {
      this.latest = (await this.#lastDecision()) ?? this.latest;
      this.#notify();
    } catch {
      this.#missed = true; // with the next entries
    }
  }

  #become(kind, { until = 0, problem = null } = {}) {
    this.connection = { kind, until, problem };
    this.#notify();
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? 0 : setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #isHiddenForLong() {
    return document.hidden && this.#hiddenSince > 0 && Date.now() - this.#hiddenSince >= BACKGROUND;
  }

  /** A page in the background gives its connection back after a minute. */
  #onVisibility() {
    if (!document.hidden) {
      this.#hiddenSince = 0;
      this.#wake();
      return;
    }
    this.#hiddenSince ||= Date.now();
    setTimeout(() => this.#isHiddenForLong() && this.#connected?.abort(), BACKGROUND + 100);
  }
}
