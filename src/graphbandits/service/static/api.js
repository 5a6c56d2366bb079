// Requests to the service, with the token of this tab.

const KEY = "graphbandits-token";
const UNREACHABLE = "The service does not answer. Check that 'graphbandits serve' is running, then try again.";

/** An answer other than success. Its message is a sentence of the service. */
export class ApiError extends Error {
  constructor(status, type, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.type = type;
    this.retryAfter = retryAfter;
  }
}

let token = read();
let refused = () => {};

function read() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export function hasToken() {
  return token !== "";
}

/** Keep a token for this tab; an empty one signs out. */
export function setToken(text) {
  token = text;
  try {
    if (text) sessionStorage.setItem(KEY, text);
    else sessionStorage.removeItem(KEY);
  } catch {
    // storage may be forbidden: the token lives as long as the page
  }
}

/** Set what happens when the service refuses the token. */
export function onRefused(action) {
  refused = action;
}

/** Join the segments of a path; each is percent-encoded. */
export function path(...segments) {
  return segments.map(encoded).join("/");
}

function encoded(segment) {
  const text = String(segment);
  let found;
  try {
    found = encodeURIComponent(text);
  } catch {
    found = ".."; // half of a surrogate pair
  }
  if (found === "." || found === ".." || found === "") {
    throw new ApiError(0, "invalid", `The name '${text}' cannot be part of an address. Use the command line for this agent.`);
  }
  return found;
}

/** Add a query to a path; values that are null are left out, and lists are repeated. */
export function withQuery(address, values) {
  const query = new URLSearchParams();
  for (const [key, value] of values) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") query.append(key, String(one).toWellFormed());
    }
  }
  const text = query.toString();
  return text ? `${address}?${text}` : address;
}

/** Send a request and return the response, or raise ApiError. */
export async function send(method, address, { body, signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  const sent = token;
  if (sent) headers.Authorization = `Bearer ${sent}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(new URL(address, document.baseURI), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (signal?.aborted || error.name === "AbortError") throw error;
    if (error instanceof TypeError && /ISO-8859-1|non-ASCII|ByteString|header/i.test(error.message)) {
      throw new ApiError(0, "invalid", "The token has characters that a token cannot have. Copy it again.");
    }
    throw new ApiError(0, "unreachable", UNREACHABLE);
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  // A late answer to a request with an earlier token does not end the session of the present one.
  if (response.status === 401 && sent === token) refused(problem);
  throw problem;
}

async function problemOf(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  try {
    const { error } = await response.json();
    if (typeof error.message === "string") {
      return new ApiError(response.status, String(error.type), error.message, retryAfter);
    }
  } catch {
    // not an answer of this service, such as that of a proxy
  }
  return new ApiError(response.status, "unknown", `The service answered with status ${response.status}.`, retryAfter);
}

/** Read a JSON value. */
export async function get(address, signal) {
  const response = await send("GET", address, { signal });
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted || error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The answer of the service ended too early. Try again.");
  }
}

/** Send a JSON value. */
export async function post(address, body) {
  return (await send("POST", address, { body })).json();
}

/** Read a file, with its size so far; the answer is a Blob. */
export async function download(address, progress, signal) {
  const response = await send("GET", address, { signal, accept: "*/*" });
  const reader = response.body.getReader();
  const parts = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
      progress(size);
    }
  } catch (error) {
    if (signal?.aborted || error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The download ended too early. Try again.");
  }
  return new Blob(parts, { type: response.headers.get("Content-Type") ?? "application/octet-stream" });
}
