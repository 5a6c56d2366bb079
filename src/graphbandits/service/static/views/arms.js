// All arms as a table, with a search.

import { html, useState } from "../vendor/htm-preact-standalone.js";
import { path, withQuery } from "../api.js";
import { Bar, Card, Loading, Name, Problem, Term } from "../components.js";
import { count, num, percent, plural } from "../format.js";
import { useLoad, useSettled } from "../hooks.js";
import { agentAddress } from "../router.js";
import { ArmAction, StatusBadge, stateText } from "./arm-parts.js";

const PAGE = 50;

export function ArmsTab({ name, who, tick, changed }) {
  const [text, setText] = useState("");
  const [most, setMost] = useState(PAGE);
  const wanted = useSettled(text.trim(), 200);
  const address = withQuery(path("agents", name, "arms"), [["search", wanted], ["limit", most]]);
  const { data, problem, again, loading } = useLoad(address, { tick, gap: 3000, family: `arms ${name}` });
  const arms = data?.arms ?? [];
  const top = arms.reduce((high, one) => Math.max(high, one.alpha ?? 0), 0) || 1;
  const tools = html`<label><span class="spoken">Search for arms</span>
    <input type="search" placeholder="Search for arms" spellcheck=${false} value=${text} onInput=${(event) => { setText(event.target.value); setMost(PAGE); }} /></label>`;
  const words = data ? (data.found === 0 ? "No arm has this text in its name." : `${count(arms.length)} of ${plural(data.found, "arm")}${wanted ? " found" : ", those that are most likely the best first"}.`) : "";
  return html`<${Card} title="Arms" tools=${tools}>
    <${Problem} error=${problem} again=${again} />
    ${!data && !problem && html`<${Loading} what="the arms" />`}
    ${arms.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Table of the arms">
      <table class="arms">
        <caption class="spoken">Arms of the agent</caption>
        <thead><tr><th scope="col">Arm</th><th scope="col" class="number"><${Term} of="alpha">P(best)<//></th><th scope="col" class="number"><${Term} of="delta">Expected regret<//></th>
          <th scope="col" class="number"><${Term} of="h">Information<//></th><th scope="col" class="number"><${Term} of="plays">Plays<//></th>
          <th scope="col" class="number"><${Term} of="observations">Observations<//></th><th scope="col">State</th>${who.role === "admin" && html`<th scope="col"><span class="spoken">Actions</span></th>`}</tr></thead>
        <tbody>${arms.map((one) => html`<tr key=${`arm ${one.arm}`}>
          <th scope="row"><a href=${agentAddress(name, "overview", null, one.arm)}><${Name} of=${one.arm} /></a> <${StatusBadge} status=${one.status} /></th>
          <td class="number with-bar">${percent(one.alpha)}${one.alpha !== null && html`<${Bar} share=${one.alpha / top} />`}</td>
          <td class="number">${num(one.delta)}</td><td class="number">${num(one.h)}</td><td class="number">${count(one.plays)}</td><td class="number">${count(one.outcomes)}</td>
          <td class="state">${stateText(one.state) || "–"}</td>
          ${who.role === "admin" && html`<td><${ArmAction} name=${name} arm=${one} who=${who} quiet=${true} done=${() => { again(); changed(); }} /></td>`}
        </tr>`)}</tbody>
      </table></div>`}
    <p class="quiet small under" role="status">${words}</p>
    ${who.role !== "admin" && html`<p class="quiet small under">To pause or resume arms you need the role admin. Your role is ${who.role}.</p>`}
    ${data && data.found > arms.length && html`<div class="more"><button type="button" aria-busy=${loading} onClick=${() => setMost(most * 2)}>Show more arms</button></div>`}
  <//>`;
}
