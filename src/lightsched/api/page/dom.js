// How is a page put together? From elements and text. Nothing here turns text into markup, so nothing that a user sent
// can become part of the page's own code.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

export class Refused extends Error {}

// JSON from the server, or an error with the sentence that the server gave as the reason.
export async function call(path, options = {}) {
  const response = await fetch(path, options);
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    body = null;
  }
  if (!response.ok) throw new Refused(body?.detail ?? `The server answered ${response.status}.`);
  return body;
}
