// The interface, to read and to try: drawn from the OpenAPI document, without anything from elsewhere.

import { byId, call, el } from "./dom.js";

const METHODS = ["get", "post", "put", "patch", "delete"];
let openapi;

// A schema in a few words; names of other schemas lead to them.
function words(schema) {
  if (!schema) return ["anything"];
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return [el("a", { href: `#schema-${name}` }, name)];
  }
  if (schema.anyOf) return schema.anyOf.flatMap((one, index) => (index ? [" or ", ...words(one)] : words(one)));
  if (schema.enum) return [schema.enum.join(" | ")];
  if (schema.const !== undefined) return [String(schema.const)];
  if (schema.type === "array") return ["list of ", ...words(schema.items)];
  const bounds = [];
  if (schema.minimum !== undefined) bounds.push(`≥ ${schema.minimum}`);
  if (schema.maximum !== undefined) bounds.push(`≤ ${schema.maximum}`);
  if (schema.default !== undefined) bounds.push(`default ${JSON.stringify(schema.default)}`);
  return [[schema.format ?? schema.type ?? "anything", ...bounds].join(", ")];
}

// Text with `code` in it.
function prose(text) {
  return (text ?? "").split(/(`[^`]+`)/).map((part) => (part.startsWith("`") ? el("code", {}, part.slice(1, -1)) : part));
}

function table(heads, rows) {
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", {}, head)))),
    el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, ...[cell].flat()))))),
  );
}

function operationBox(path, method, operation) {
  const parts = [el("p", { class: "prose" }, ...prose(operation.description))];
  const parameters = operation.parameters ?? [];
  if (parameters.length) {
    parts.push(
      el("h3", {}, "Parameters"),
      table(
        ["Name", "In", "What", ""],
        parameters.map((parameter) => [
          el("code", {}, parameter.name),
          parameter.in + (parameter.required ? ", required" : ""),
          words(parameter.schema),
          prose(parameter.description),
        ]),
      ),
    );
  }
  const content = operation.requestBody?.content ?? {};
  for (const [type, body] of Object.entries(content)) {
    parts.push(el("h3", {}, "Body ", el("code", {}, type)), el("p", {}, ...words(body.schema)));
  }
  parts.push(
    el("h3", {}, "Answers"),
    table(
      ["Status", "What", "Shape"],
      Object.entries(operation.responses).map(([status, answer]) => [
        el("code", {}, status),
        prose(answer.description),
        words(Object.values(answer.content ?? {})[0]?.schema ?? { type: "nothing" }),
      ]),
    ),
    tryBox(path, method, parameters, content["application/json"]),
  );
  return el(
    "details",
    { id: operation.operationId },
    el("summary", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), el("code", {}, path), el("span", {}, operation.summary)),
    el("div", {}, ...parts),
  );
}

function exampleFor(parameter) {
  return parameter.example ?? parameter.schema?.examples?.[0] ?? parameter.schema?.default;
}

function exampleOf(body) {
  const example = body?.example ?? Object.values(body?.examples ?? {})[0]?.value;
  return example === undefined ? "" : JSON.stringify(example, null, 2);
}

function tryBox(path, method, parameters, body) {
  const fields = parameters.map((parameter) => ({
    parameter,
    input: el("input", { spellcheck: "false", placeholder: String(exampleFor(parameter) ?? "") }),
  }));
  for (const { parameter, input } of fields) {
    if (parameter.required) input.value = exampleFor(parameter) ?? "";
  }
  const text = body ? el("textarea", { spellcheck: "false", "aria-label": "Body" }) : null;
  if (text) text.value = exampleOf(body);
  const answer = el("pre", { hidden: true });
  const send = async (submitted) => {
    submitted.preventDefault();
    let target = path;
    const query = new URLSearchParams();
    const headers = text?.value ? { "Content-Type": "application/json" } : {};
    for (const { parameter, input } of fields) {
      if (parameter.in === "path") target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (!input.value) continue;
      else if (parameter.in === "query") query.append(parameter.name, input.value);
      else headers[parameter.name] = input.value;
    }
    const address = `.${target}${query.size ? `?${query}` : ""}`;
    answer.hidden = false;
    answer.textContent = `${method.toUpperCase()} ${address} …`;
    try {
      const response = await fetch(address, { method: method.toUpperCase(), headers, body: text?.value || undefined });
      const said = await response.text();
      let shown = said;
      try {
        shown = JSON.stringify(JSON.parse(said), null, 2);
      } catch {
        // not JSON: as it is
      }
      answer.textContent = `${response.status} ${response.statusText}\n${shown}`;
    } catch (error) {
      answer.textContent = error.message;
    }
  };
  return el(
    "form",
    { class: "try", onsubmit: send },
    ...fields.map(({ parameter, input }) => el("label", {}, parameter.name, input)),
    text,
    el("button", { class: "primary" }, "Try it"),
    answer,
  );
}

function schemaBox(name, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([field, one]) => [
    el("code", {}, field),
    required.has(field) ? "always" : "",
    words(one),
  ]);
  return el(
    "details",
    { id: `schema-${name}` },
    el("summary", {}, el("code", {}, name), el("span", {}, schema.description ?? "")),
    el("div", {}, rows.length ? table(["Field", "", "What"], rows) : el("p", {}, ...words(schema))),
  );
}

function about(text) {
  const [introduction] = text.split("\n\n|");
  const rows = text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => prose(cell.trim())));
  return el("section", { class: "card" }, el("p", {}, ...prose(introduction)), table(["Type", "Status", "Meaning"], rows));
}

// A link to a schema or call opens it.
function openTarget() {
  const target = location.hash && byId(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

async function draw() {
  openapi = await call("openapi.json");
  byId("version").textContent = openapi.info.version;
  const operations = Object.entries(openapi.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, operation: item[method] })),
  );
  const sections = openapi.tags.map((tag) =>
    el(
      "section",
      { class: "card" },
      el("h2", {}, tag.description),
      ...operations
        .filter(({ operation }) => operation.tags?.includes(tag.name))
        .map(({ path, method, operation }) => operationBox(path, method, operation)),
    ),
  );
  const schemas = Object.entries(openapi.components.schemas).sort(([a], [b]) => a.localeCompare(b));
  byId("main").replaceChildren(
    about(openapi.info.description),
    ...sections,
    el("section", { class: "card" }, el("h2", {}, "Shapes"), ...schemas.map(([name, schema]) => schemaBox(name, schema))),
  );
  openTarget();
}

addEventListener("hashchange", openTarget);
draw().catch((error) => byId("main").replaceChildren(el("p", { class: "bad" }, error.message)));
