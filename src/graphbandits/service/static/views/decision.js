// One decision: why this arm, the frontier, its outcomes and its end.

import { html, useState } from "../vendor/htm-preact-standalone.js";
import { path, post, withQuery } from "../api.js";
import { Confirm, Loading, Name, Problem, Table, Time } from "../components.js";
import { Frontier } from "../charts.js";
import { count, num, plural, prose, shown } from "../format.js";
import { useLoad } from "../hooks.js";

/** Arms of an explanation, and arms of a list of outcomes. */
const [ARMS, LISTED] = [5, 30];

/** Load a decision with its explanation; again when `tick` changes, as long as it is open: then it has its last outcomes. */
export function useDecision(name, id, tick, family = name) {
  const address = id === null ? null : withQuery(path("agents", name, "decisions", id), [["explain", true], ["arms", ARMS]]);
  const [ended, setEnded] = useState(null);
  const found = useLoad(address, { tick: ended === id ? 0 : tick, gap: 4000, family: `decision ${family}` });
  const decision = found.data?.decision;
  if (decision && decision.id === id && decision.status === "closed" && ended !== id) setEnded(id);
  return found;
}

export function StatusWord({ status }) {
  return html`<span class=${`badge ${status}`}>${status}</span>`;
}

/** An explanation in words: one line for each arm, with the name in bold. */
export function Words({ explanation, compact = false }) {
  let lines = prose(withoutBreaks(explanation)).split("\n").filter((line) => line.trim() !== "");
  const count_ = explanation.arms.length;
  if (compact) {
    // the policy and the time are elsewhere, the number of other arms is in the details
    const by = lines[0].indexOf(` (${prose(explanation.policy)}, `);
    if (by > 0) lines[0] = `${lines[0].slice(0, by)}.`;
    if (explanation.others > 0) lines = lines.filter((_, k) => k !== count_ + 1);
  }
  const names = [explanation.arm, ...explanation.arms.map((one) => one.arm)].map(shown);
  return html`<div class="words">${lines.map((line, k) => {
    const name = names[k];
    const at = name === undefined ? -1 : line.indexOf(name);
    const role = k === 0 ? "lead" : k <= count_ ? (k === 1 ? "arm-line played-line" : "arm-line") : "rest";
    if (at < 0) return html`<p class=${role}>${line}</p>`;
    return html`<p class=${role}>${line.slice(0, at)}<b><bdi>${name}</bdi></b>${line.slice(at + name.length)}</p>`;
  })}</div>`;
}

/** The text of an explanation, in which a line break is never that of a name. */
function withoutBreaks({ text, arm, arms }) {
  const names = [arm, ...arms.flatMap((one) => [one.arm, ...Object.keys(one.reveals ?? {})])].map(String);
  return names.filter((name) => name.includes("\n")).reduce((all, name) => all.replaceAll(name, shown(name)), text);
}

/** The explanation of a loaded decision, or the sentence why there is none. */
export function Why({ answer, height = 240, wide = false }) {
  const { explanation, note } = answer;
  if (!explanation) return html`<p class="quiet">${note ? prose(note) : "There is no explanation of this decision."}</p>`;
  return html`<div class=${`why ${wide ? "wide" : ""}`}>
    <div>
      <${Words} explanation=${explanation} compact=${!wide} />
      ${explanation.rule && html`<p class="quiet small rule"><code>${shown(explanation.policy)}</code>: ${prose(explanation.rule)}</p>`}
      ${explanation.reproduced === false && html`<p class="notice warn">This version of graphbandits does not give the recorded decision.</p>`}
    </div>
    ${explanation.points && explanation.points.arms.length > 0 && html`<${Frontier} points=${explanation.points} gain=${explanation.gain} height=${height} compact=${!wide} />`}
  </div>`;
}

function Outcomes({ decision }) {
  const reveals = new Map(Object.entries(decision.reveals ?? {}));
  const outcomes = new Map(Object.entries(decision.outcomes ?? {}));
  const late = new Set(decision.late ?? []);
  const missing = [...reveals.keys()].filter((arm) => !outcomes.has(arm));
  const rows = [
    ...[...outcomes].map(([arm, reward]) => ({ arm, text: `${Array.isArray(reward) ? `${num(reward[0])} in ${plural(reward[1], "outcome")}` : num(reward)}${late.has(arm) ? " (late)" : ""}` })),
    ...missing.map((arm) => ({ arm, text: decision.status === "open" ? "missing" : "none" })),
  ];
  return html`<section class="outcomes">
    <h3>Outcomes <span class="quiet">${count(outcomes.size)} of ${plural(reveals.size, "revealed arm")}</span></h3>
    <${Table} caption="Outcomes of this decision" head=${[{ label: "Arm" }, { label: "Outcome", number: true }, { label: "Revealed with", number: true }]}
      rows=${rows.slice(0, LISTED).map(({ arm, text }) => ({ key: `arm ${arm}`, cells: [html`<${Name} of=${arm} />`, text, reveals.has(arm) ? num(reveals.get(arm)) : "–"] }))} />
    ${rows.length > LISTED && html`<p class="quiet small">${count(rows.length - LISTED)} more arms are not listed.</p>`}
  </section>`;
}

/** A button that closes a decision after a question; for others than admins, the reason why there is none. */
export function CloseAction({ name, id, status, who, done, quiet = false }) {
  const [asking, setAsking] = useState(false);
  if (status !== "open") return null;
  if (who.role !== "admin") return quiet ? null : html`<p class="quiet small">To close decisions you need the role admin. Your role is ${who.role}.</p>`;
  return html`<button type="button" onClick=${() => setAsking(true)}>Close<span class="spoken"> decision ${id}</span></button>
    ${asking && html`<${Confirm} title="Close the decision?" action="Close the decision" danger=${true}
      act=${() => post(path("agents", name, "events"), { op: "close", id })} done=${done} close=${() => setAsking(false)}>
      <p>No more outcomes of decision <code>${shown(id)}</code> are accepted. This cannot be undone.</p>
    <//>`}`;
}

/** All about one decision. */
export function DecisionView({ name, id, tick, who, changed }) {
  const { data, problem, again } = useDecision(name, id, tick, `${name} ${id}`);
  if (problem && !data) return html`<${Problem} error=${problem} again=${again} />`;
  if (!data) return html`<${Loading} what="the decision" />`;
  const { decision } = data;
  return html`<article class="decision" aria-label=${`Decision ${decision.number ?? ""}`}>
    <header class="decision-head">
      <h2>Why <${Name} of=${decision.arm} />?</h2>
      <${StatusWord} status=${decision.status} />
      <${CloseAction} name=${name} id=${decision.id} status=${decision.status} who=${who} done=${() => { again(); changed(); }} />
    </header>
    <p class="quiet facts">Decision ${count(decision.number)}, <${Time} iso=${decision.time} />${decision.expires ? html`, ${decision.status === "open" ? "expires" : "expiry"} <${Time} iso=${decision.expires} />` : ""}, id <code>${shown(decision.id)}</code></p>
    <${Problem} error=${problem} again=${again} />
    <${Why} answer=${data} height=${280} wide=${true} />
    <${Outcomes} decision=${decision} />
    ${decision.context !== undefined && decision.context !== null && html`<section><h3>Context</h3><pre class="command"><code>${prose(JSON.stringify(decision.context, null, 2))}</code></pre></section>`}
    ${decision.status === "open" && who.role !== "admin" && html`<${CloseAction} name=${name} id=${decision.id} status=${decision.status} who=${who} />`}
  </article>`;
}
