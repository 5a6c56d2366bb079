// The health of an agent: warnings, notes, the test of the posterior, shares of answers.

import { html, useState } from "../vendor/htm-preact-standalone.js";
import { path, withQuery } from "../api.js";
import { Card, Loading, Name, Problem, Stat, Table, Time, sentence } from "../components.js";
import { count, duration, num, percent } from "../format.js";
import { useLoad } from "../hooks.js";

const LEVELS = ["0.05", "0.01", "0.001"];

export function HealthTab({ name, tick }) {
  const [level, setLevel] = useState("0.01");
  const { data, problem, again } = useLoad(withQuery(path("agents", name, "health"), [["level", level]]), { tick, gap: 10_000, family: `health ${name}` });
  if (!data && problem) return html`<${Problem} error=${problem} again=${again} />`;
  if (!data) return html`<${Card} title="Health"><${Loading} what="the health" /><//>`;
  const { health } = data;
  const tools = html`<label class="inline">Level<select value=${level} onChange=${(event) => setLevel(event.target.value)}>
    ${LEVELS.map((one) => html`<option value=${one} selected=${one === level}>${one}</option>`)}</select></label>`;
  const good = health.verdict === "ok";
  return html`<div class="stack">
    <${Card} title="Health" tools=${tools}>
      <${Problem} error=${problem} again=${again} />
      <div class=${`verdict ${good ? "good" : "bad"}`} role="status"><strong>${good ? "OK" : "Warning"}</strong>
        <span>${good ? "Nothing unusual was found." : health.warnings.length === 1 ? "One test gave a warning." : `${health.warnings.length} tests gave a warning.`}</span></div>
      ${health.warnings.length > 0 && html`<ul class="sentences warnings">${health.warnings.map((one) => html`<li>${sentence(one)}</li>`)}</ul>`}
      ${health.notes.length > 0 && html`<h3 class="under">Notes</h3><ul class="sentences">${health.notes.map((one) => html`<li>${sentence(one)}</li>`)}</ul>`}
      <dl class="stats spread">
        <${Stat} label="Decisions" term="decisions" value=${health.decisions} />
        <${Stat} label="Open" term="open" value=${health.open} />
        <${Stat} label="Oldest open" value=${duration(health.oldest)} />
        <${Stat} label="Median age" value=${duration(health.median)} />
        <${Stat} label="Expired" term="expired" value=${health.expired} />
        <${Stat} label="Unanswered" term="unanswered" value=${health.unanswered} />
        <${Stat} label="Outcomes" term="outcomes" value=${health.outcomes} />
        <${Stat} label="Learned" term="learned" value=${health.learned} />
        <${Stat} label="Late" term="late" value=${health.late} />
      </dl>
    <//>
    ${health.test && html`<${Card} title="Do outcomes contradict the posterior?">
      <p class="under">The highest ratio of likelihoods is <b>${num(health.test.highest_ratio)}</b>${health.test.highest_time ? html` (<${Time} iso=${health.test.highest_time} />)` : ""}, the current one <b>${num(health.test.ratio)}</b>. There is a warning from ${num(health.test.threshold)} on. ${count(health.test.outcomes)} outcomes were tested.</p>
      ${health.test.arms.length > 0 && html`<${Table} caption="Arms with the most evidence against their posterior"
        head=${[{ label: "Arm" }, { label: "Outcomes", number: true }, { label: "Highest ratio", number: true }, { label: "Ratio", number: true }, { label: "Threshold", number: true }, { label: "Posterior mean", number: true }, { label: "Recent mean", number: true }, { label: "Result" }]}
        rows=${health.test.arms.map((one) => ({ key: `arm ${one.arm}`, cells: [html`<${Name} of=${one.arm} />`, count(one.outcomes), num(one.highest_ratio), num(one.ratio), num(one.threshold), num(one.posterior_mean), num(one.recent_mean), one.contradicts ? html`<span class="badge bad">contradicts</span>` : "ok"] }))} />`}
    <//>`}
    ${health.answers.length > 0 && html`<${Card} title="Shares of answers">
      <p class="under">The arms with the lowest shares: outcomes received, of those that closed decisions revealed.</p>
      <${Table} caption="Arms with the lowest shares of answers"
        head=${[{ label: "Arm" }, { label: "Received", number: true }, { label: "Revealed", number: true }, { label: "Share", number: true }, { label: "Result" }]}
        rows=${health.answers.map((one) => ({ key: `arm ${one.arm}`, cells: [html`<${Name} of=${one.arm} />`, count(one.received), num(one.revealed), percent(Math.min(1, one.share)), one.low ? html`<span class="badge warn">low</span>` : "ok"] }))} />
    <//>`}
  </div>`;
}
