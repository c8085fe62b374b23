// Elements made of text alone: what comes from a recording is never markup.

/** A new element with a class and text. */
export function made<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  { kind = "", text = "" }: { kind?: string; text?: string } = {},
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  if (text) element.textContent = text;
  return element;
}

/** A quiet button that does something. */
export function button(text: string, act: () => void): HTMLButtonElement {
  const element = made("button", { kind: "quiet", text });
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

/** What stands in one of the page's JSON elements. */
export function pageData<Content>(id: string): Content {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null") as Content;
}
