// Regret, information ratio and entropy over the decisions.

import { html } from "../vendor/htm-preact-standalone.js";
import { path, withQuery } from "../api.js";
import { Card, Empty, Loading, Problem } from "../components.js";
import { LineChart } from "../charts.js";
import { plural } from "../format.js";
import { useLoad } from "../hooks.js";

const CHARTS = [
  ["cumulative", "Estimated cumulative regret", "", "Sum of the expected regrets of the decisions, each computed from the posterior of its time. The true regret is not known.", "wide"],
  ["regret", "Expected regret of a decision", "", "Expected loss of one decision against the best arm, from the posterior of its time.", ""],
  ["ratio", "Information ratio", "", "Expected regret squared, divided by the expected gain of information. Information-directed sampling makes it small.", ""],
  ["entropy", "Entropy of the best arm", "nats", "What is left to learn about which arm is the best. 0 means that the best arm is known.", ""],
];

export function TrendTab({ name, tick }) {
  const { data, problem, again } = useLoad(withQuery(path("agents", name, "trend"), [["points", 200]]), { tick, gap: 5000 });
  if (!data && problem) return html`<${Problem} error=${problem} again=${again} />`;
  if (!data) return html`<${Card} title="Trend"><${Loading} what="the trend" /><//>`;
  if (data.regret.every((value) => value === null) && data.entropy.every((value) => value === null)) {
    return html`<${Card} title="Trend"><${Empty} title="There is no trend.">
      <p class="quiet">It begins with the first decision of a policy that keeps a posterior, such as <code>ids-n</code> or <code>ts-n</code>. Policies such as <code>ucb-n</code> and <code>exp3-ix</code> keep none.</p><//><//>`;
  }
  return html`<${Card} title="Trend">
    <${Problem} error=${problem} again=${again} />
    <div class="charts">${CHARTS.map(([key, title, unit, help, tone]) =>
      html`<${LineChart} key=${key} title=${title} unit=${unit} help=${help} x=${data.decision} y=${data[key]} times=${data.time} tone=${tone} height=${tone ? 240 : 190} />`)}</div>
    <p class="quiet small under">Horizontal axis: number of the decision.${data.every > 1 ? ` One point for every ${plural(data.every, "decision")}.` : ""}</p>
  <//>`;
}
