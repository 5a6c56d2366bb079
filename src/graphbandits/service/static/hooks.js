// State that follows the service, the window and the theme.

import { useEffect, useReducer, useRef, useState } from "./vendor/htm-preact-standalone.js";
import { get } from "./api.js";

/** Render again whenever a feed has news. */
export function useFeed(feed) {
  const [, again] = useReducer((value) => value + 1, 0);
  useEffect(() => feed.subscribe(() => again()), [feed]);
  return feed;
}

/**
 * Load a JSON value, and again when `tick` changes: at most every `gap` milliseconds, not in the background, and with pauses
 * that are longer than the requests.
 *
 * Returns {data, problem, loading, again}. The data of the same `family` stay while those of a new address are loaded.
 */
export function useLoad(address, { tick = 0, gap = 2000, family = address } = {}) {
  const [state, setState] = useState({ data: null, problem: null, loading: true, family, address });
  const loader = useRef(null);
  useEffect(() => {
    if (address === null) return undefined;
    const one = new Loader(address, gap, (change) => setState((old) => ({ ...(old.family === family ? old : {}), ...change, family, address })));
    loader.current = one;
    one.load();
    return () => one.close();
  }, [address, family]);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) loader.current?.soon();
    first.current = false;
  }, [tick]);
  const known = state.family === family;
  return {
    data: known ? (state.data ?? null) : null,
    problem: known && state.address === address ? (state.problem ?? null) : null,
    loading: !known || state.address !== address || state.loading,
    again: () => loader.current?.load(),
  };
}

class Loader {
  #timer = 0;
  #stop = new AbortController();
  #busy = false;
  #dirty = false;
  #next = 0;
  #visible = () => !document.hidden && this.#dirty && this.soon();

  constructor(address, gap, change) {
    this.address = address;
    this.gap = gap;
    this.change = change;
    document.addEventListener("visibilitychange", this.#visible);
  }

  close() {
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#visible);
    this.#stop.abort();
    this.change = () => {};
  }

  soon() {
    this.#dirty = true;
    if (this.#busy || this.#timer || document.hidden) return;
    this.#timer = setTimeout(() => this.load(), Math.max(0, this.#next - performance.now()));
  }

  async load() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.#busy) {
      this.#dirty = true;
      return;
    }
    this.#busy = true;
    this.#dirty = false;
    const start = performance.now();
    let wait = 0;
    this.change({ loading: true });
    try {
      this.change({ data: await get(this.address, this.#stop.signal), problem: null, loading: false });
    } catch (problem) {
      if (this.#stop.signal.aborted) return;
      wait = 1000 * (problem.retryAfter ?? 0);
      this.change({ problem, loading: false });
    }
    const end = performance.now();
    this.#next = end + Math.max(this.gap, wait, 4 * (end - start));
    this.#busy = false;
    if (this.#dirty) this.soon();
  }
}

/** A value that changes at most every `gap` milliseconds. */
export function useThrottled(value, gap) {
  const [kept, setKept] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    if (Object.is(value, kept)) return undefined;
    const wait = Math.max(0, last.current + gap - performance.now());
    const timer = setTimeout(() => {
      last.current = performance.now();
      setKept(value);
    }, kept === null ? 0 : wait);
    return () => clearTimeout(timer);
  }, [value, kept, gap]);
  return kept;
}

/** A value after it has not changed for a while. */
export function useSettled(value, delay) {
  const [kept, setKept] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setKept(value), delay);
    return () => clearTimeout(timer);
  }, [value, delay]);
  return kept;
}

/** The width of an element, measured again when it changes. */
export function useWidth(start = 600) {
  const ref = useRef(null);
  const [width, setWidth] = useState(start);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(1, Math.round(entry.contentRect.width))));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** The time in milliseconds, again every `gap` milliseconds. */
export function useNow(gap = 1000) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && setNow(Date.now()), gap);
    return () => clearInterval(timer);
  }, [gap]);
  return now;
}

let ids = 0;
/** A unique id for an element. */
export function useId(prefix) {
  const ref = useRef(null);
  ref.current ??= `${prefix}-${++ids}`;
  return ref.current;
}
