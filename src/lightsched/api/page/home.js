// What is pending, what fired, and a form to schedule more.

import { byId, call, el, Refused } from "./dom.js";

const API = "api/v1";
const REFRESH_MS = 2000;
const LABELS = {
  in: ["Duration", "30s"],
  at: ["Time", new Date(Date.now() + 3600e3).toISOString().slice(0, 16)],
  cron: ["Cron", "30 9 * * mon-fri"],
  every: ["Duration", "5m"],
};

let view = "next";
let known = null; // deliveries seen before, so that new ones can be marked
let clockOffset = 0; // the server's time minus ours
let nextDue = null;

// ---- words

const number = new Intl.NumberFormat("en");

function now() {
  return Date.now() + clockOffset;
}

function until(iso) {
  const ms = Date.parse(iso) - now();
  const text = span(Math.abs(ms));
  return ms >= 0 ? `in ${text}` : `${text} ago`;
}

function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} days`;
}

function shortTime(iso) {
  return iso.replace("T", " ").replace(/\.000(?=Z|[+-])/, "").replace(/Z$|\+00:00$/, "");
}

function address(event, rest = "") {
  const query = new URLSearchParams({ tenant: event.tenant });
  if (event.key !== event.id) query.set("key", event.key);
  return `${API}/events/${encodeURIComponent(event.id)}${rest}?${query}`;
}

// ---- reading

async function refresh() {
  try {
    const [partitions, nodes, forecast, recent] = await Promise.all([
      call(`${API}/partitions`),
      call(`${API}/nodes`),
      call(`${API}/forecast?minutes=61`), // the present minute has begun: an hour ahead ends in the 61st
      call(`${API}/recent?limit=50`),
    ]);
    showState(nodes.nodes[0]);
    showNumbers(partitions.partitions, recent);
    showForecast(forecast.minutes);
    showRecent(recent.deliveries);
    await showEvents();
  } catch (error) {
    const state = byId("state");
    state.className = "pill bad";
    state.textContent = error instanceof Refused ? "not ready" : "not reachable";
  }
}

function showState(node) {
  const state = byId("state");
  state.className = "pill good";
  state.textContent = `running ${node.version}`;
  clockOffset = Date.parse(node.heartbeat) - Date.now();
}

function showNumbers(partitions, recent) {
  byId("pending").textContent = number.format(partitions.reduce((sum, partition) => sum + partition.pending, 0));
  byId("delivered").textContent = number.format(recent.total);
  const dues = partitions.map((partition) => partition.next_due).filter(Boolean).sort();
  nextDue = dues[0] ?? null;
  const first = recent.deliveries.filter((delivery) => delivery.attempt <= 1); // a retry is late on purpose
  const late = first.map((delivery) => delivery.late_ms).sort((a, b) => a - b);
  byId("late").textContent = late.length ? span(late[Math.floor(late.length / 2)]) : "–";
}

function showForecast(minutes) {
  const svg = byId("forecast");
  const most = Math.max(1, ...minutes.map((minute) => minute.pending));
  svg.setAttribute("viewBox", `0 0 ${minutes.length * 10} 100`);
  svg.replaceChildren(
    ...minutes.map((minute, index) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const height = minute.pending ? Math.max(6, (minute.pending / most) * 100) : 2;
      const place = { x: index * 10 + 1, width: 8, y: 100 - height, height };
      for (const [name, value] of Object.entries(place)) bar.setAttribute(name, value);
      if (!minute.pending) bar.classList.add("none");
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = `${shortTime(minute.minute)}: ${number.format(minute.pending)}`;
      bar.append(title);
      return bar;
    }),
  );
  const total = minutes.reduce((sum, minute) => sum + minute.pending, 0);
  byId("forecast-text").textContent = total
    ? `${number.format(total)} due, at most ${number.format(most)} a minute (recurrences count once)`
    : "nothing is due in the next 60 minutes";
}

function showRecent(deliveries) {
  const rows = deliveries.map((delivery) => {
    const isNew = known !== null && !known.has(delivery.delivery + delivery.topic);
    return el(
      "tr",
      { class: isNew ? "new" : undefined },
      el("td", {}, eventLink(delivery), under(delivery, delivery.attempt > 1 ? `attempt ${delivery.attempt}` : null)),
      el("td", { class: "status" }, ...statusOf(delivery)),
      el("td", { class: "time" }, el("time", { title: delivery.due }, shortTime(delivery.due))),
      el("td", { class: "time" }, span(delivery.late_ms)),
    );
  });
  known = new Set(deliveries.map((delivery) => delivery.delivery + delivery.topic));
  byId("recent").replaceChildren(...rows);
  byId("recent-note").textContent = rows.length ? "" : "Nothing has fired yet.";
}

function statusOf(delivery) {
  const words = { NOT_STARTED: "no report yet", null: "forgotten" }[delivery.status] ?? delivery.status;
  return words.split("_").flatMap((part, index) => (index ? ["_", el("wbr", {}), part] : [part]));
}

async function showEvents() {
  const shown = view;
  let events;
  let more = false;
  if (shown === "next") {
    const page = await call(`${API}/upcoming?limit=50`);
    events = page.events.map((event) => ({ ...event, next_execution: event.due }));
    more = page.cursor !== null;
  } else {
    const filter = shown === "all" ? "" : `&status=${shown}`;
    const page = await call(`${API}/events?tenant=*&limit=50${filter}`);
    events = page.events;
    more = page.cursor !== null;
  }
  if (shown !== view || byId("events").contains(document.activeElement?.closest("td.actions"))) return;
  byId("events").replaceChildren(...events.map(eventRow));
  byId("events-note").textContent = events.length
    ? more
      ? "The first 50 are shown."
      : ""
    : { next: "Nothing is pending. Schedule something above.", PAUSED: "Nothing is paused." }[shown] ?? "There are no events.";
}

function eventRow(event) {
  const over = ["SUCCESS", "FATAL_FAILURE", "CANCELLED", "EXPIRED"].includes(event.status);
  const actions = over
    ? []
    : [
        action(event, event.status === "PAUSED" ? "resume" : "pause"),
        action(event, "trigger"),
        action(event, "cancel"),
      ];
  const when = event.next_execution
    ? el("time", { title: event.next_execution, "data-until": event.next_execution }, until(event.next_execution))
    : event.status;
  return el(
    "tr",
    {},
    el("td", {}, eventLink(event), under(event, event.status === "NOT_STARTED" ? null : event.status)),
    el("td", {}, event.schedule_text),
    el("td", { class: "time" }, when),
    el("td", { class: "actions" }, ...actions),
  );
}

function eventLink(event) {
  return el("button", { class: "link", type: "button", onclick: () => showDetail(event) }, event.id);
}

function under(event, more) {
  const parts = [event.type];
  if (event.tenant !== "default") parts.push(event.tenant);
  if (event.key !== event.id) parts.push(`key ${event.key}`);
  if (event.topic && event.topic !== "lightsched.deliveries") parts.push(`to ${event.topic}`);
  if (more) parts.push(more);
  return el("span", { class: "under" }, parts.join(" · "));
}

// ---- doing

function action(event, what) {
  return el(
    "button",
    {
      type: "button",
      "aria-label": `${what} ${event.id}`,
      onclick: async (click) => {
        click.target.disabled = true;
        try {
          const path = what === "cancel" ? address(event) : address(event, `/${what}`);
          const result = await call(path, { method: what === "cancel" ? "DELETE" : "POST" });
          say(`${event.id}: ${result.outcome}`, true);
        } catch (error) {
          say(error.message, false);
        }
        click.target.blur();
        await refresh();
      },
    },
    what,
  );
}

function say(text, good) {
  const said = byId("said");
  said.textContent = text;
  said.className = `said ${good ? "good" : "bad"}`;
}

function eventFrom(form) {
  const kind = form.kind.value;
  const event = { [kind]: form.when.value.trim() };
  const zone = form.timezone.value.trim();
  if (zone && (kind === "cron" || (kind === "at" && !/([zZ]|[+-]\d\d:\d\d)$/.test(event.at)))) event.timezone = zone;
  if (form.id.value) event.id = form.id.value;
  if (form.type.value.trim()) event.type = form.type.value.trim();
  if (form.payload.value.trim()) {
    try {
      event.payload = JSON.parse(form.payload.value);
    } catch {
      event.payload = form.payload.value;
    }
  }
  return event;
}

async function schedule(submitted) {
  submitted.preventDefault();
  const form = submitted.target;
  try {
    const result = await call(`${API}/events`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(eventFrom(form)),
    });
    const when = result.next_execution ? `, fires ${shortTime(result.next_execution)} UTC` : "";
    say(`${result.id}: ${result.outcome}${when}`, true);
    form.id.value = "";
    await refresh();
  } catch (error) {
    say(error.message, false);
  }
}

let previews = 0;

async function preview() {
  const form = byId("form");
  const kind = form.kind.value;
  const box = byId("preview");
  const mine = ++previews;
  if (kind !== "cron" && kind !== "every") {
    box.replaceChildren();
    return;
  }
  const query = new URLSearchParams({ [kind]: form.when.value, timezone: form.timezone.value.trim() || "UTC", n: 5 });
  let shown;
  try {
    const found = await call(`${API}/preview?${query}`);
    const times = found.times.map((time) =>
      el("li", { title: time.utc }, el("time", {}, shortTime(time.local)), time.note ? ` (${time.note})` : null),
    );
    shown = [el("span", { class: "words" }, found.text), el("ol", {}, ...times)];
  } catch (error) {
    shown = [el("span", { class: "bad" }, error.message)];
  }
  if (mine === previews) box.replaceChildren(...shown);
}

// ---- one event

async function showDetail(event) {
  const body = byId("detail-body");
  byId("detail-title").textContent = event.id;
  body.replaceChildren("…");
  byId("detail").showModal();
  try {
    const [definition, story, runs] = await Promise.all([
      call(address(event)),
      call(address(event, "/explain")),
      call(`${address(event, "/runs")}&limit=10`),
    ]);
    body.replaceChildren(
      el("p", {}, definition.schedule_text, " · ", el("b", {}, definition.status)),
      el("h3", {}, "What happened, and why"),
      el("ol", { class: "story" }, ...story.reasons.map(reason)),
      el("h3", {}, `Runs (${runs.runs.length}${runs.cursor ? "+" : ""})`),
      runs.runs.length ? runTable(runs.runs) : el("p", { class: "note" }, "None yet."),
      el("h3", {}, "Definition"),
      el("pre", {}, JSON.stringify(definition, null, 2)),
    );
  } catch (error) {
    body.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

function reason(line) {
  return el("li", {}, el("time", {}, line.at ? shortTime(line.at) : "now"), el("span", {}, line.text));
}

function runTable(runs) {
  const rows = runs.map((run) =>
    el(
      "tr",
      {},
      el("td", { class: "time" }, el("time", {}, shortTime(run.due))),
      el("td", {}, run.status),
      el("td", {}, String(run.attempt)),
      el("td", {}, run.error),
    ),
  );
  const heads = ["Due", "Status", "Attempts", "Error"].map((name) => el("th", {}, name));
  return el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
}

// ---- beginning

function tick() {
  byId("clock").textContent = `${new Date(now()).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  byId("next").textContent = nextDue ? span(Math.max(0, Date.parse(nextDue) - now())) : "–";
  for (const time of document.querySelectorAll("[data-until]")) time.textContent = until(time.dataset.until);
}

function chooseKind() {
  const form = byId("form");
  const [label, value] = LABELS[form.kind.value];
  byId("when-label").textContent = label;
  form.when.value = value;
  preview();
}

byId("form").addEventListener("submit", schedule);
byId("form").kind.addEventListener("change", chooseKind);
for (const name of ["when", "timezone"]) byId("form")[name].addEventListener("input", preview);
byId("detail-close").addEventListener("click", () => byId("detail").close());
for (const button of document.querySelectorAll("[data-view]")) {
  button.addEventListener("click", () => {
    view = button.dataset.view;
    for (const other of document.querySelectorAll("[data-view]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    button.blur();
    refresh();
  });
}
byId("zones").replaceChildren(...(Intl.supportedValuesOf?.("timeZone") ?? []).map((zone) => el("option", { value: zone })));

// One refresh after the other, and none while nobody looks.
async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, REFRESH_MS);
}

setInterval(tick, 250);
tick();
keepFresh();
