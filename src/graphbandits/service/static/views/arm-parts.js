// Parts about one arm: search, numbers, actions.

import { html, useEffect, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { path, post, withQuery } from "../api.js";
import { Bar, Confirm, Name, Term } from "../components.js";
import { count, num, percent, plural, shown } from "../format.js";
import { useId, useLoad, useSettled } from "../hooks.js";

const FOUND = 20;
const NEIGHBOURS = 12;

/** A field that finds arms by a part of their name; the arrow keys choose one. */
export function ArmSearch({ name, choose, fieldRef }) {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [place, setPlace] = useState(0);
  const id = useId("search");
  const wanted = useSettled(text.trim(), 150);
  const address = wanted ? withQuery(path("agents", name, "arms"), [["search", wanted], ["limit", FOUND]]) : null;
  const { data, problem, loading } = useLoad(address, { family: `search ${name}` });
  const arms = wanted ? (data?.arms ?? []) : [];
  useEffect(() => setPlace(0), [data]);
  const take = (arm) => {
    setText("");
    setOpen(false);
    choose(arm);
  };
  const keys = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      if (arms.length) setPlace((place + (event.key === "ArrowDown" ? 1 : -1) + arms.length) % arms.length);
    } else if (event.key === "Enter" && open && arms[place] && !loading) {
      event.preventDefault();
      take(arms[place].arm);
    } else if (event.key === "Escape") {
      setOpen(false);
      setText("");
    }
  };
  const shows = open && wanted !== "" && text.trim() !== "";
  const message = problem ? problem.message : !data || loading ? "Searching …" : arms.length ? `${plural(data.found, "arm")} found${data.found > arms.length ? `, the first ${arms.length} are listed` : ""}.` : "No arm has this text in its name.";
  return html`<div class="search" onFocusOut=${(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}>
    <label class="spoken" for=${id}>Search for an arm</label>
    <input id=${id} ref=${fieldRef} type="search" role="combobox" autocomplete="off" spellcheck=${false} placeholder="Search for an arm"
      aria-expanded=${shows} aria-controls=${`${id}-list`} aria-autocomplete="list"
      aria-activedescendant=${shows && arms.length ? `${id}-${place}` : undefined}
      value=${text} onInput=${(event) => { setText(event.target.value); setOpen(true); }} onKeyDown=${keys} onFocus=${() => setOpen(true)} />
    <div class="found" hidden=${!shows}>
      <ul id=${`${id}-list`} role="listbox" aria-label="Arms found">
        ${arms.map((one, i) => html`<li key=${`arm ${one.arm}`} id=${`${id}-${i}`} role="option" aria-selected=${i === place}
          onMouseDown=${(event) => event.preventDefault()} onClick=${() => take(one.arm)}>
          <${Name} of=${one.arm} /><span class="quiet">${one.status === "active" ? percent(one.alpha) : one.status}</span></li>`)}
      </ul>
      <p class="quiet small" role="status">${message}</p>
    </div>
  </div>`;
}

/** A button that pauses or resumes an arm, after a question; for others than admins, the reason why there is none. */
export function ArmAction({ name, arm, who, done, quiet = false }) {
  const [asking, setAsking] = useState(false);
  if (arm.status === "retired") return quiet ? null : html`<p class="quiet small">A retired arm stays retired.</p>`;
  const resume = arm.status === "paused";
  if (who.role !== "admin") {
    return quiet ? null : html`<p class="quiet small">To ${resume ? "resume" : "pause"} arms you need the role admin. Your role is ${who.role}.</p>`;
  }
  const word = resume ? "Resume" : "Pause";
  return html`<button type="button" onClick=${() => setAsking(true)}>${word}<span class="spoken"> ${shown(arm.arm)}</span></button>
    ${asking && html`<${Confirm} title=${html`${word} <${Name} of=${arm.arm} />?`} action=${`${word} the arm`} danger=${!resume}
      act=${() => post(path("agents", name, "events"), { op: resume ? "resume" : "pause", arms: [arm.arm] })}
      done=${done} close=${() => setAsking(false)}>
      <p>${resume
        ? "The arm may be played again from the next decision on."
        : "The arm is not played until it is resumed. Its outcomes still count, and plays of other arms still reveal it."}</p>
    <//>`}`;
}

export function StatusBadge({ status }) {
  return status === "active" ? null : html`<span class=${`badge ${status}`}>${status}</span>`;
}

/** The state of the policy for an arm in words, such as "a 3, b 5". */
export function stateText(state) {
  const value = (one) => (Array.isArray(one) ? `[${one.map(value).join(", ")}]` : typeof one === "number" ? num(one) : String(one ?? "–"));
  return Object.entries(state ?? {}).map(([key, one]) => `${key} ${value(one)}`).join(", ");
}

/** Numbers and neighbours of an arm of a graph. */
export function ArmPanel({ name, data, index, who, choose, changed, partial }) {
  const heading = useRef(null);
  const arm = data.arms[index];
  const { reveals, by } = data.neighbours(index);
  return html`<div class="arm-panel">
    <header><h3 ref=${heading}><${Name} of=${arm.arm} /></h3><${StatusBadge} status=${arm.status} />
      <button type="button" class="plain" aria-label="Close the arm" onClick=${() => choose(null)}>×</button></header>
    <dl class="numbers">
      <div><dt><${Term} of="alpha">Probability of being the best<//></dt><dd>${percent(arm.alpha)}</dd></div>
      <div><dt><${Term} of="delta">Expected regret<//></dt><dd>${num(arm.delta)}</dd></div>
      <div><dt><${Term} of="h">Information, nats<//></dt><dd>${num(arm.h)}</dd></div>
      <div><dt><${Term} of="plays">Plays<//></dt><dd>${count(arm.plays)}</dd></div>
      <div><dt><${Term} of="observations">Observations<//></dt><dd>${count(arm.outcomes)}</dd></div>
      ${stateText(arm.state) && html`<div><dt>State</dt><dd class="text">${stateText(arm.state)}</dd></div>`}
    </dl>
    ${arm.alpha === null && html`<p class="quiet small">${arm.status === "active" ? "This policy has no posterior: there is no probability of being the best arm." : "The statistics are those of the arms that may be played."}</p>`}
    <${Neighbours} title=${data.directed ? "Reveals" : "Reveals, and is revealed by"} list=${reveals} data=${data} choose=${choose} partial=${partial} />
    ${data.directed && html`<${Neighbours} title="Revealed by" list=${by} data=${data} choose=${choose} partial=${partial} />`}
    <${ArmAction} name=${name} arm=${arm} who=${who} done=${changed} />
  </div>`;
}

function Neighbours({ title, list, data, choose, partial }) {
  const [all, setAll] = useState(false);
  const few = all ? list.slice(0, 500) : list.slice(0, NEIGHBOURS);
  return html`<section class="neighbours">
    <h4>${title} <span class="quiet">${plural(list.length, "arm")}</span></h4>
    ${list.length === 0 && html`<p class="quiet small">${partial ? "No arm of the part that is drawn." : "No other arm."}</p>`}
    <ul>${few.map(({ i, p }) => html`<li key=${i}><button type="button" class="link" onClick=${() => choose(data.arms[i].arm)}><${Name} of=${data.arms[i].arm} /></button>
      ${p < 1 && html`<span class="quiet"> with probability ${num(p)}</span>`}</li>`)}</ul>
    ${list.length > few.length && !all && html`<button type="button" class="link" onClick=${() => setAll(true)}>Show ${count(list.length - few.length)} more</button>`}
  </section>`;
}

/** The arms that are most likely the best. */
export function Likeliest({ data, choose }) {
  const order = data.arms.map((_, i) => i).filter((i) => data.arms[i].alpha !== null)
    .sort((a, b) => data.arms[b].alpha - data.arms[a].alpha || a - b).slice(0, 8);
  if (order.length === 0) return html`<p class="quiet">This policy has no posterior: there are no probabilities of being the best arm.</p>`;
  const most = data.arms[order[0]].alpha || 1;
  return html`<div class="likeliest">
    <h3><${Term} of="alpha">Most likely the best<//></h3>
    <ol>${order.map((i) => html`<li key=${i}>
      <button type="button" class="link" onClick=${() => choose(data.arms[i].arm)}><${Name} of=${data.arms[i].arm} /></button>
      <span class="value">${percent(data.arms[i].alpha)}</span><${Bar} share=${data.arms[i].alpha / most} />
    </li>`)}</ol>
    <p class="quiet small">Choose an arm to see its numbers and neighbours.</p>
  </div>`;
}
