// Elements, made without markup: whatever comes from a recording becomes text.

type Attributes = Record<string, string>;

/** An element with attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A button that does something; a title says more. */
export function button(text: string, attributes: Attributes, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

/** A button in a soft colour. */
export function quietButton(text: string, act: () => void): HTMLButtonElement {
  return button(text, { class: "quiet" }, act);
}

/** A button that shows a symbol and is called by its title. */
export function symbolButton(symbol: string, title: string, act: () => void): HTMLButtonElement {
  return button(symbol, { title, "aria-label": title }, act);
}

/** What stands in one of the page's JSON elements. */
export function pageData<Content>(id: string): Content {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null") as Content;
}
