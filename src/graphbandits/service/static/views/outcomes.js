// Decisions that wait for outcomes; late and expired ones.

import { html, useEffect, useState } from "../vendor/htm-preact-standalone.js";
import { get, path, withQuery } from "../api.js";
import { Age, Card, Empty, Loading, Name, Problem, Stat, Time } from "../components.js";
import { count, plural } from "../format.js";
import { useLoad } from "../hooks.js";
import { agentAddress } from "../router.js";
import { CloseAction } from "./decision.js";
import { More, useDecisions } from "./decisions.js";

/** Arms that are named in a row, and decisions whose arms are remembered. */
const [NAMED, REMEMBERED] = [4, 2000];

/** Arms that decisions reveal, by agent and id: they do not change. Requests follow one another. */
const known = new Map();
let queue = Promise.resolve();

function revealed(name, id) {
  const key = JSON.stringify([name, id]);
  if (!known.has(key)) {
    if (known.size >= REMEMBERED) known.clear();
    const found = queue.then(async () => {
      const { decision } = await get(withQuery(path("agents", name, "decisions", id), [["explain", false]]));
      return Object.keys(decision.reveals);
    });
    known.set(key, found);
    queue = found.catch(() => known.delete(key));
  }
  return known.get(key);
}

/** Names of the arms without an outcome. */
function Missing({ name, one }) {
  const [reveals, setReveals] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    let gone = false;
    revealed(name, one.id).then((arms) => gone || setReveals(arms), (error) => gone || setProblem(error));
    return () => (gone = true);
  }, [name, one.id]);
  if (problem) return html`<span class="warn">${problem.message}</span>`;
  if (reveals === null) return html`<span class="quiet">…</span>`;
  const outcomes = new Set(Object.keys(one.outcomes));
  const arms = reveals.filter((arm) => !outcomes.has(arm));
  return html`${arms.slice(0, NAMED).map((arm, i) => html`${i ? ", " : ""}<${Name} of=${arm} />`)}${arms.length > NAMED ? ` and ${count(arms.length - NAMED)} more` : ""}${arms.length === 0 ? "none" : ""}`;
}

export function OutcomesTab({ name, who, tick, agent, changed }) {
  const list = useDecisions(name, true, tick);
  const health = useLoad(path("agents", name, "health"), { tick, gap: 10_000 });
  const now = health.data?.health;
  return html`<div class="stack">
    <${Card} title="Outcomes">
      <dl class="stats spread">
        <${Stat} label="Open" term="open" value=${agent.open} />
        <${Stat} label="Expired" term="expired" value=${agent.expired} tone=${agent.expired ? "warn" : ""} />
        <${Stat} label="Unanswered" term="unanswered" value=${now ? now.unanswered : "–"} />
        <${Stat} label="Late outcomes" term="late" value=${agent.late} tone=${agent.late ? "warn" : ""} />
        <${Stat} label="Outcomes" term="outcomes" value=${agent.outcomes} />
        <${Stat} label="Learned" term="learned" value=${agent.learned ?? 0} />
      </dl>
    <//>
    <${Card} title="Open decisions">
      <${Problem} error=${list.problem} again=${list.again} />
      ${!list.loaded && !list.problem && html`<${Loading} what="the open decisions" />`}
      ${list.loaded && list.all.length === 0 && html`<${Empty} title="No decision is open."><p class="quiet">All decisions have their outcomes, or have expired.</p><//>`}
      ${list.all.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Table of the open decisions"><table>
        <caption class="spoken">Open decisions, newest first</caption>
        <thead><tr><th scope="col">Decision</th><th scope="col">Arm</th><th scope="col" class="number">Age</th><th scope="col">Expires</th><th scope="col" class="number">Received</th><th scope="col">Missing arms</th>
          ${who.role === "admin" && html`<th scope="col"><span class="spoken">Actions</span></th>`}</tr></thead>
        <tbody>${list.all.map((one) => html`<tr key=${one.number}>
          <th scope="row"><a href=${agentAddress(name, "decisions", one.id)}>${count(one.number)}</a></th><td><${Name} of=${one.arm} /></td>
          <td class="number"><${Age} iso=${one.time} /></td><td>${one.expires ? html`<${Time} iso=${one.expires} />` : "never"}</td>
          <td class="number">${count(Object.keys(one.outcomes ?? {}).length)}</td><td class="missing"><${Missing} name=${name} one=${one} /></td>
          ${who.role === "admin" && html`<td><${CloseAction} name=${name} id=${one.id} status=${one.status} who=${who} quiet=${true} done=${() => { list.again(); changed(); }} /></td>`}
        </tr>`)}</tbody></table></div>`}
      ${list.all.length > 0 && list.all.length < agent.open && !list.more && html`<p class="quiet small under">${plural(agent.open - list.all.length, "open decision")} more.</p>`}
      ${who.role !== "admin" && list.all.length > 0 && html`<p class="quiet small under">To close decisions you need the role admin. Your role is ${who.role}.</p>`}
      <${More} list=${list} />
    <//>
  </div>`;
}
