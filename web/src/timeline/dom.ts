// Elements, made without markup: whatever comes from a recording becomes text.

type Child = Node | string;

/** An element with attributes and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A button that does something; the title says more. */
export function button(text: string, title: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", title }, text);
  made.addEventListener("click", act);
  return made;
}

/** A button that shows a symbol and is called by its title. */
export function symbolButton(symbol: string, title: string, act: () => void): HTMLButtonElement {
  const made = button(symbol, title, act);
  made.setAttribute("aria-label", title);
  return made;
}
