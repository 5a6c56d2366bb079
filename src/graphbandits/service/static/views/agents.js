// The list of all agents of the store.

import { html, useState } from "../vendor/htm-preact-standalone.js";
import { Command, Empty, Loading, Name, Problem, Term, rowKeys } from "../components.js";
import { count, shown } from "../format.js";
import { useLoad, useNow } from "../hooks.js";
import { agentAddress } from "../router.js";

/** Number of agents above which there is a field to filter them. */
const MANY = 10;
const REFRESH = 5000;
const COLUMNS = [
  ["arms", "Arms"],
  ["decisions", "Decisions"],
  ["open", "Open"],
  ["outcomes", "Outcomes"],
  ["late", "Late"],
];

export function AgentsView({ who }) {
  const tick = Math.floor(useNow(REFRESH) / REFRESH);
  const { data, problem, again } = useLoad("agents", { tick, gap: REFRESH });
  const [filter, setFilter] = useState("");
  const agents = data?.agents ?? [];
  const wanted = filter.trim().toLowerCase();
  const found = agents.filter((one) => `${one.name}\n${one.policy}`.toLowerCase().includes(wanted));
  return html`<div class="page">
    <div class="page-head">
      <h1>Agents</h1>
      ${agents.length > MANY && html`<label class="filter"><span class="spoken">Filter the agents by name or policy</span>
        <input type="search" placeholder="Name or policy" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></label>`}
    </div>
    <${Problem} error=${problem} again=${again} />
    ${!data && !problem && html`<${Loading} what="the agents" />`}
    ${data && agents.length === 0 && html`<${Empty} title="No agents yet.">
      <p>Create one on the command line, and it appears here:</p>
      <${Command}>graphbandits agent init ${shown(who.store)} --policy ids-n --graph complete --arms ann,bob,eve<//>
      <p>Programs create agents with <code>POST /agents</code>; see the <a href="openapi.json">HTTP API</a>.</p>
    <//>`}
    ${data && agents.length > 0 && found.length === 0 && html`<p class="quiet">No agent has this name or policy.</p>`}
    ${found.length > 0 && html`<div class="scroll">
      <table class="agents" onKeyDown=${rowKeys}>
        <caption class="spoken">Agents of the store</caption>
        <thead><tr>
          <th scope="col">Agent</th><th scope="col">Policy</th>
          ${COLUMNS.map(([key, label]) => html`<th scope="col" class="number"><${Term} of=${key}>${label}<//></th>`)}
        </tr></thead>
        <tbody>${found.map((one) => html`<tr key=${`agent ${one.name}`}>
          <th scope="row"><a data-row href=${agentAddress(one.name)}><${Name} of=${one.name} /></a></th>
          <td data-label="Policy"><code class="policy">${shown(one.policy)}</code></td>
          ${COLUMNS.map(([key, label]) => html`<td class=${`number ${key === "late" && one.late > 0 ? "warn" : ""}`} data-label=${label}>${count(one[key])}</td>`)}
        </tr>`)}</tbody>
      </table>
    </div>`}
  </div>`;
}
