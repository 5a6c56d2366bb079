// Small parts that all views use.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact-standalone.js";
import { count, duration, prose, shown, time } from "./format.js";
import { useId, useNow } from "./hooks.js";

/** A name from outside: text of its own direction, with the whole name as its title. */
export function Name({ of, className = "" }) {
  const text = shown(of);
  return html`<bdi class=${`name ${className}`} title=${text.length > 24 ? text : undefined}>${text}</bdi>`;
}

/** A local time, with the time of the service as its title. */
export function Time({ iso }) {
  return iso ? html`<time datetime=${iso} title=${iso}>${time(iso)}</time>` : "–";
}

/** Time since a moment. */
export function Age({ iso }) {
  const now = useNow(1000);
  return html`<time datetime=${iso} title=${iso}>${duration((now - new Date(iso).getTime()) / 1000)}</time>`;
}

/** A term with an explanation that shows on hover and focus, beside it and inside of the window. */
export function Help({ children, text }) {
  const id = useId("help");
  const tip = useRef(null);
  const [away, setAway] = useState(true);
  const show = (event) => {
    const term = event.currentTarget.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height, style } = tip.current;
    const below = term.bottom + 6;
    style.left = `${Math.max(8, Math.min(term.left, document.documentElement.clientWidth - width - 8))}px`;
    style.top = `${below + height > innerHeight ? term.top - height - 6 : below}px`;
    setAway(false);
  };
  const hide = () => setAway(true);
  const keys = (event) => {
    if (event.key === "Escape") hide();
  };
  return html`<span class="help" tabindex="0" aria-describedby=${id} onKeyDown=${keys}
    onFocus=${show} onBlur=${hide} onMouseEnter=${show} onMouseLeave=${hide}
    >${children}<span ref=${tip} role="tooltip" id=${id} class=${`tip ${away ? "" : "shown"}`}>${text}</span></span>`;
}

export const HELP = new Map([
  ["alpha", "Probability of being the best arm, computed from the posterior."],
  ["delta", "Expected regret of playing this arm: how much reward is lost, in expectation, compared with the best arm."],
  ["h", "Information about which arm is the best in one outcome of this arm, in nats."],
  ["plays", "Number of decisions for this arm."],
  ["observations", "Number of outcomes of this arm: of its own plays, of plays of arms that reveal it, and of earlier data."],
  ["decisions", "Number of decisions so far."],
  ["open", "Decisions that wait for outcomes."],
  ["outcomes", "Outcomes that were reported for decisions. An outcome of several arms counts once for each arm."],
  ["learned", "Outcomes that were learned without a decision, such as data of an earlier campaign."],
  ["late", "Outcomes that came after their decision had expired. They are in the journal, but were not learned."],
  ["expired", "Decisions whose time was over before they were closed."],
  ["unanswered", "Decisions that were closed, or have expired, without any outcome."],
  ["arms", "Choices that the policy decides between."],
  ["probability", "Probability with which the policy drew the played arm."],
]);

export function Term({ of, children }) {
  return html`<${Help} text=${HELP.get(of)}>${children}<//>`;
}

/** A number with its label. */
export function Stat({ label, term, value, tone = "" }) {
  return html`<div class=${`stat ${tone}`}>
    <dt>${term ? html`<${Term} of=${term}>${label}<//>` : label}</dt>
    <dd>${typeof value === "number" ? count(value) : value}</dd>
  </div>`;
}

/** The sentence of an error, with a way to try again. */
export function Problem({ error, again, children }) {
  if (!error) return null;
  return html`<div class="notice bad" role="alert">
    <p>${sentence(error.message)}</p>
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

/** A message as a sentence. */
export function sentence(text) {
  const clean = prose(text).trim();
  const start = clean.charAt(0).toUpperCase() + clean.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

export function Loading({ what }) {
  return html`<p class="quiet loading" role="status">Loading ${what} …</p>`;
}

/** What to show before there is anything. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
}

export function Command({ children }) {
  return html`<pre class="command"><code>${children}</code></pre>`;
}

/** A part of a page with a heading. */
export function Card({ title, tools, className = "", level = 2, children }) {
  const id = useId("card");
  const heading = level === 2 ? html`<h2 id=${id}>${title}</h2>` : html`<h3 id=${id}>${title}</h3>`;
  return html`<section class=${`card ${className}`} aria-labelledby=${id}>
    <header class="card-head">${heading}${tools && html`<div class="tools">${tools}</div>`}</header>
    ${children}
  </section>`;
}

/** A table that scrolls within itself. */
export function Table({ caption, head, rows, className = "" }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table class=${className}>
      <caption class="spoken">${caption}</caption>
      <thead><tr>${head.map(({ label, number, term }) => html`<th scope="col" class=${number ? "number" : ""}>
        ${term ? html`<${Term} of=${term}>${label}<//>` : label}</th>`)}</tr></thead>
      <tbody>${rows.map(({ key, cells, attributes }) => html`<tr key=${key} ...${attributes ?? {}}>${cells.map((cell, i) =>
        i === 0 ? html`<th scope="row">${cell}</th>` : html`<td class=${head[i].number ? "number" : ""}>${cell}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
}

/** A bar of a share between 0 and 1. */
export function Bar({ share }) {
  const width = 100 * Math.min(1, Math.max(0, share || 0));
  return html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-room" width="100" height="4" /><rect class="bar-part" width=${width} height="4" />
  </svg>`;
}

/** Move the focus through the elements `[data-row]` of a list with the arrow keys. */
export function rowKeys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...event.currentTarget.querySelectorAll("[data-row]")];
  const here = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  if (here < 0) return;
  event.preventDefault();
  const next = rows[Math.min(rows.length - 1, Math.max(0, here + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** A dialog that asks before an action. `act` returns a promise; its error is shown as a sentence. */
export function Confirm({ title, action, act, done, close, danger = false, children }) {
  const dialog = useRef(null);
  const cancel = useRef(null);
  const id = useId("dialog");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    cancel.current.focus(); // Enter alone changes nothing
    return () => before?.isConnected && before.focus();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      await act();
      close();
      done?.();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const clicked = (event) => {
    if (event.target === dialog.current) close(); // outside of its content
  };
  return html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${close} onClick=${clicked}>
    <form onSubmit=${submit}>
      <h2 id=${id}>${title}</h2>
      ${children}
      <${Problem} error=${problem} />
      <div class="dialog-buttons">
        <button type="button" ref=${cancel} onClick=${close}>Cancel</button>
        <button type="submit" class=${danger ? "danger" : "primary"} aria-busy=${busy} disabled=${busy}>${action}</button>
      </div>
    </form>
  </dialog>`;
}

/** A text for screen readers that changes at most every `gap` milliseconds. */
export function Announcer({ text, gap = 15_000 }) {
  const [spoken, setSpoken] = useState("");
  const last = useRef(performance.now());
  useEffect(() => {
    if (!text || text === spoken) return undefined;
    const wait = Math.max(0, last.current + gap - performance.now());
    const timer = setTimeout(() => {
      last.current = performance.now();
      setSpoken(text);
    }, wait);
    return () => clearTimeout(timer);
  }, [text, spoken, gap]);
  return html`<p class="spoken" role="status" aria-live="polite">${spoken}</p>`;
}
